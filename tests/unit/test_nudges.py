"""How the watching thread is woken: by the signal or by a call, and by nothing else."""

import os
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

from errands_workers.nudges import NUDGE, PipedNudges, nudges_unblocked


def _ignored(_number: int, _frame: FrameType | None) -> None: ...


@contextmanager
def listening() -> Generator[PipedNudges]:
    before = {number: signal.getsignal(number) for number in (NUDGE, signal.SIGWINCH)}
    nudges = PipedNudges()
    nudges.listen()
    try:
        yield nudges
    finally:
        signal.set_wakeup_fd(-1)
        for number, handler in before.items():
            signal.signal(number, handler)


def test_the_signal_wakes_the_thread_that_waits():
    with listening() as nudges:
        woken = threading.Event()
        thread = threading.Thread(target=lambda: nudges.wait(10) and woken.set())
        thread.start()
        os.kill(os.getpid(), NUDGE)
        thread.join(5)
        assert woken.is_set()


def test_a_nudge_from_within_is_as_good_and_is_heard_once():
    with listening() as nudges:
        for _ in range(100_000):
            nudges.nudge()
        while nudges.wait(0):
            pass
        assert not nudges.wait(0)


def test_another_signal_is_no_reason_to_look():
    with listening() as nudges:
        signal.signal(signal.SIGWINCH, _ignored)
        os.kill(os.getpid(), signal.SIGWINCH)
        assert not nudges.wait(0.2)


def test_what_was_blocked_is_blocked_again_and_nothing_else():
    for blocked in (set[signal.Signals](), {NUDGE}):
        before = signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        try:
            with nudges_unblocked():
                assert NUDGE not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
            assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == blocked
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
