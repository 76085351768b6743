"""How asyncio tasks are ended for certain."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

AGAIN_SECONDS = 0.2
"""Pause before a task that goes on is cancelled again."""


async def end_all(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel tasks until they have ended; what they raise stays theirs.

    Once may not be enough: a library that awaits with `asyncio.wait_for` swallows, in Python 3.11, a cancel which comes
    as what it waits for is done. A task that loops would then go on for ever, and the process with it.
    """
    going = {task for task in tasks if not task.done()}
    while going:
        for task in going:
            task.cancel()
        _, going = await asyncio.wait(going, timeout=AGAIN_SECONDS)
