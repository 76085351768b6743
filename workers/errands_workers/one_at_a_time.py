"""The prefork pool's way: a process runs one call, and is left to its tool where the tool cannot be stopped."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import FrameType
from typing import NoReturn

import structlog

from errands_workers.attempt import Attempt
from errands_workers.manner import Record
from errands_workers.nudges import NUDGE, BlockedNudges
from errands_workers.offspring import EVERYTHING_BELOW, Offspring
from errands_workers.processes import kill_below, leave_process

log = structlog.get_logger()


class OneAtATime:
    """A pool process. It is made before the process starts any thread."""

    def __init__(self) -> None:
        self.nudges = BlockedNudges()

    def busy(self) -> AbstractContextManager[None]:
        """There is one slot, and whoever asks is in it."""
        return nullcontext()

    def offspring_of(self, call: str) -> Offspring:
        """Whatever is below this process."""
        return EVERYTHING_BELOW

    def ready_for_tool(self) -> None:
        """Set our handlers again, since billiard and tools set some of their own.

        A request to end the process ends its tool as well, and no tool can catch it. A nudge that meets this thread
        goes to the one that waits for it. SIGINT stays without effect here, but is not ignored: tools would inherit it.
        """
        signal.signal(signal.SIGTERM, _leave)
        signal.signal(NUDGE, _passing_on(self.nudges.nudge))
        signal.signal(signal.SIGINT, _no_effect)

    def running(self, call: str) -> AbstractContextManager[None]:
        """Nothing has to be known of it: there is no other call."""
        return nullcontext()

    def give_up(self, attempt: Attempt, record: Record) -> bool:
        """Record the end, and leave the process to the tool. What fails, the launcher does."""
        if attempt.stop and attempt.abandon():
            log.warning("worker.tool_goes_on", tool_call_id=attempt.claimed.call, why=attempt.stop.why)
            kill_below(os.getpid())
            record(attempt, attempt.as_stopped())
            leave_process()
        return False


def _passing_on(nudge: Callable[[], None]) -> Callable[[int, FrameType | None], None]:
    return lambda _number, _frame: nudge()


def _no_effect(_number: int, _frame: FrameType | None) -> None:
    """Ctrl-C is for the launcher, which tells Celery to stop."""


def _leave(_number: int, _frame: FrameType | None) -> NoReturn:
    leave_process()
