"""How a pool process is told to look at its call: by SIGUSR1, which only its watching thread takes.

The signal is blocked in the whole process, so it never interrupts a tool, and Celery's own handler for it never runs.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Generator
from contextlib import contextmanager

NUDGE = signal.SIGUSR1
_CAN_WAIT = hasattr(signal, "sigtimedwait")
_POLL_SECONDS = 0.25


def block_nudges() -> None:
    """Before any other thread starts: from then on only `wait_for_nudge` sees them."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {NUDGE})


@contextmanager
def nudges_unblocked() -> Generator[None]:
    """While a process is begun, which inherits what is blocked. A nudge in that moment runs the handler for it."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {NUDGE})
    try:
        yield
    finally:
        block_nudges()


def wait_for_nudge(seconds: float) -> bool:
    """Wait so long at most; True if there is reason to look.

    Where the system cannot wait for a signal with a limit there is reason every quarter of a second.
    """
    if _CAN_WAIT:
        return signal.sigtimedwait({NUDGE}, max(0.0, seconds)) is not None
    time.sleep(max(0.0, min(seconds, _POLL_SECONDS)))
    return True
