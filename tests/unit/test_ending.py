"""Tasks are ended for certain, also when one of them swallows a cancel."""

import asyncio
from contextlib import suppress

import pytest

from errands_orchestrator.ending import end_all


async def goes_on(swallows: int, started: asyncio.Event) -> None:
    """A loop inside which so many cancels are lost."""
    while True:
        started.set()
        if swallows == 0:
            await asyncio.Event().wait()
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        swallows -= 1


@pytest.mark.parametrize("swallows", [0, 1, 2])
async def test_a_task_that_swallows_cancels_is_ended_all_the_same(swallows: int) -> None:
    started = [asyncio.Event() for _ in range(3)]
    tasks = [asyncio.create_task(goes_on(swallows, one)) for one in started]
    await asyncio.gather(*(one.wait() for one in started))

    await asyncio.wait_for(end_all(tasks), 5)

    assert all(task.cancelled() for task in tasks)


async def test_ending_what_has_ended_and_nothing_at_all_is_no_work() -> None:
    done = asyncio.create_task(asyncio.sleep(0))
    await done

    await end_all([done])
    await end_all([])

    assert not done.cancelled()
