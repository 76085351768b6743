"""How long a person waits for the end of a run: until it comes, until time is up, or until Ctrl-C."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from errands_orchestrator.cli.interrupts import Interrupts
from errands_orchestrator.cli.watching import Ending
from errands_orchestrator.ending import end_all

STOP_SECONDS = 15.0
"""Longest wait for the end of a run that was told to stop; its workers have 10 s to confirm."""


async def until_over(
    watching: Coroutine[None, None, Ending],
    stop: Callable[[], Awaitable[None]],
    pressed: Interrupts,
    seconds: float | None,
) -> Ending:
    """The run's ending, or that of its person's patience. The first Ctrl-C stops the run, the second leaves."""
    following = asyncio.create_task(watching)
    stopping = asyncio.create_task(_stopped(pressed.asked, stop))
    leaving = asyncio.create_task(pressed.leaving.wait())
    all_three: tuple[asyncio.Task[Any], ...] = (following, stopping, leaving)
    try:
        done, _ = await asyncio.wait(all_three, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if following in done:
            return _blamed(following.result(), pressed.asked.is_set())
        if stopping in done:
            stopping.result()  # raises where the run could not be told
        return Ending("interrupted" if done else "timeout", left=True, stopped=pressed.asked.is_set())
    finally:
        await end_all(all_three)


async def _stopped(asked: asyncio.Event, stop: Callable[[], Awaitable[None]]) -> None:
    """Ends when the run was told to stop, should have ended, and has not."""
    await asked.wait()
    await stop()
    await asyncio.sleep(STOP_SECONDS)


def _blamed(ending: Ending, asked: bool) -> Ending:
    """A run that ended as cancelled after our own Ctrl-C was interrupted; else somebody else cancelled it."""
    return Ending("interrupted", stopped=True) if asked and ending.status in ("cancelled", "blocked") else ending
