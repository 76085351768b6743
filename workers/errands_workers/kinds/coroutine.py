"""Coroutines of calls on the one event loop of their process, which lives as long as it, so that a client kept in a
module serves every call.

In a process that runs one call at a time its first thread is the loop's, too. Where several run at once the loop has a
thread of its own, and what a call began there is known by the context in which it was begun.
"""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Callable, Collection, Coroutine, Iterable
from contextvars import ContextVar
from typing import Any
from weakref import WeakSet

from errands_config.wire import Outcome
from errands_workers.attempt import Attempt, failed
from errands_workers.kinds.kind import RunEnd

_LEFTOVER_SECONDS = 0.5

Begin = Callable[[], Coroutine[Any, Any, RunEnd]]

_TASKS: ContextVar[WeakSet[asyncio.Task[Any]] | None] = ContextVar("errands_tasks_of_call", default=None)
"""The tasks of the call that is running; None outside of calls."""


def run_coroutine(begin: Begin, attempt: Attempt, patience: float) -> RunEnd:
    """Run a coroutine, which catches everything that its tool raises, to its end; it is stopped through its task."""
    call = _on_loop(begin, attempt, patience)
    if threading.current_thread() is threading.main_thread():
        return _own_loop().run_until_complete(call)
    with attempt.stoppable(_nothing_to_press, patience):  # the loop may be kept from it by another call
        return asyncio.run_coroutine_threadsafe(call, _shared_loop()).result()


async def _on_loop(begin: Begin, attempt: Attempt, patience: float) -> RunEnd:
    if attempt.stop:
        return _never_begun()
    tasks: WeakSet[asyncio.Task[Any]] = WeakSet()
    _TASKS.set(tasks)
    loop = asyncio.get_running_loop()
    task = loop.create_task(begin())
    with attempt.stoppable(lambda: _cancel(loop, task), patience):
        await asyncio.wait([task])
        attempt.end()
    await _end_leftovers(tasks)
    return _never_begun() if task.cancelled() else task.result()


def _never_begun() -> Outcome:
    return failed("it was cancelled before it began", "CancelledError")


def _nothing_to_press() -> None:
    """There is no task yet."""


def _cancel(loop: asyncio.AbstractEventLoop, task: asyncio.Task[RunEnd]) -> None:
    loop.call_soon_threadsafe(task.cancel)


async def _end_leftovers(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel the tasks that the call began and did not wait for: nothing of a call runs after its end."""
    left: Collection[asyncio.Task[Any]] = [task for task in tasks if not task.done()]
    for task in left:
        task.cancel()
    if left:
        await asyncio.wait(left, timeout=_LEFTOVER_SECONDS)


def _task_of_call(loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> asyncio.Task[Any]:
    task: asyncio.Task[Any] = asyncio.Task(coroutine, loop=loop, **options)
    mine = _TASKS.get()
    if mine is not None:
        mine.add(task)
    return task


def _new_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    loop.set_task_factory(_task_of_call)
    return loop


@functools.cache
def _own_loop() -> asyncio.AbstractEventLoop:
    return _new_loop()


_starting = threading.Lock()


def _shared_loop() -> asyncio.AbstractEventLoop:
    with _starting:
        return _begun_loop()


@functools.cache
def _begun_loop() -> asyncio.AbstractEventLoop:
    loop = _new_loop()
    threading.Thread(target=loop.run_forever, name="coroutines", daemon=True).start()
    return loop
