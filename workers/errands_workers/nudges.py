"""How a process is told to look at its calls: by SIGUSR1, which wakes the thread that watches them and nothing else."""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Protocol

NUDGE = signal.SIGUSR1
_CAN_WAIT = hasattr(signal, "sigtimedwait")
_POLL_SECONDS = 0.25


class Nudges(Protocol):
    """Where the watching thread waits for them."""

    def wait(self, seconds: float) -> bool:
        """Wait so long at most; True if there is reason to look. For the watching thread alone."""
        ...

    def nudge(self) -> None:
        """Have the watching thread look now. From any thread."""
        ...


class BlockedNudges:
    """For a process whose first thread runs tools: the signal is blocked, so it never interrupts one.

    Celery's own handler for it never runs either. It has to be made before any other thread is started.
    """

    def __init__(self) -> None:
        self._watching: int | None = None
        signal.pthread_sigmask(signal.SIG_BLOCK, {NUDGE})

    def wait(self, seconds: float) -> bool:
        """Wait for the signal. Where the system sets no limit to that there is reason every quarter of a second."""
        self._watching = threading.get_ident()
        if _CAN_WAIT:
            return signal.sigtimedwait({NUDGE}, max(0.0, seconds)) is not None
        time.sleep(max(0.0, min(seconds, _POLL_SECONDS)))
        return True

    def nudge(self) -> None:
        """Send the signal to the thread that waits for it."""
        if self._watching:
            signal.pthread_kill(self._watching, NUDGE)


class PipedNudges:
    """For a process whose first thread serves Celery: the system takes the signal there, and a pipe carries it on.

    No tool runs in that thread, and nothing is blocked, so what tools begin inherits nothing odd.
    """

    def __init__(self) -> None:
        self._here, self._there = os.pipe()
        os.set_blocking(self._here, False)
        os.set_blocking(self._there, False)

    def listen(self) -> None:
        """Take the signal from now on. From the process's first thread, after Celery has set handlers of its own."""
        signal.signal(NUDGE, _noted)
        signal.set_wakeup_fd(self._there, warn_on_full_buffer=False)

    def wait(self, seconds: float) -> bool:
        """Wait for something to come through the pipe; numbers of other signals in it are no reason to look."""
        readable, _, _ = select.select([self._here], [], [], max(0.0, seconds))
        return bool(readable) and NUDGE in os.read(self._here, 4096)

    def nudge(self) -> None:
        """Write into the pipe what the signal does."""
        with suppress(BlockingIOError):  # a full pipe is reason enough
            os.write(self._there, bytes([NUDGE]))


@contextmanager
def nudges_unblocked() -> Generator[None]:
    """While a process is begun, which inherits what is blocked. A nudge in that moment runs the handler for it."""
    before = signal.pthread_sigmask(signal.SIG_UNBLOCK, {NUDGE})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _noted(_number: int, _frame: FrameType | None) -> None:
    """The number is in the pipe already; without a handler there would be none."""
