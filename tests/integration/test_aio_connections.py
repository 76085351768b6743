"""Asyncio connections end when their tasks are cancelled, whatever they are doing."""

from __future__ import annotations

import asyncio

import pytest

from errands_config import store
from errands_config.settings import Settings


async def command_after_command(settings: Settings, started: asyncio.Event) -> None:
    client = store.aio(settings)
    try:
        while True:
            await client.ping()
            started.set()
    finally:
        await client.aclose()


async def test_a_loop_of_commands_ends_when_it_is_cancelled_once(settings: Settings) -> None:
    for _ in range(30):
        started = asyncio.Event()
        task = asyncio.create_task(command_after_command(settings, started))
        await started.wait()

        task.cancel()

        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(asyncio.shield(task), 2)


async def test_a_command_that_was_cancelled_leaves_no_answer_to_the_next(settings: Settings) -> None:
    client = store.aio(settings)
    for number in range(50):
        cut_off = asyncio.ensure_future(client.echo(f"cut off {number}"))
        await asyncio.sleep(0)
        cut_off.cancel()
        await asyncio.gather(cut_off, return_exceptions=True)

        assert await client.echo(f"whole {number}") == f"whole {number}"
    await client.aclose()
