"""The threads pool's way: the Celery process itself runs several calls, so none of them may take it along.

A thread cannot be ended from outside. The end of a call whose function goes on after all is recorded as unconfirmed,
and the thread, which is a slot of the worker, stays taken until the function returns.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager

import structlog

from errands_workers.attempt import Attempt
from errands_workers.manner import Record
from errands_workers.nudges import PipedNudges
from errands_workers.processes import leave_process
from errands_workers.shared_offspring import OffspringOfOne, SharedOffspring

log = structlog.get_logger()


class SeveralAtOnce:
    """A Celery process whose threads run calls. It is made in the process's first thread, before any call."""

    def __init__(self, incarnation: str, slots: int) -> None:
        self.nudges = PipedNudges()
        self._offspring = SharedOffspring(incarnation)
        self._slots = slots
        self._lock = threading.Lock()
        self._busy = 0
        self._running: set[str] = set()
        self._given_up: set[str] = set()
        self._draining = False

    def offspring_of(self, call: str) -> OffspringOfOne:
        """What belongs to this call alone."""
        return self._offspring.of(call)

    def ready_for_tool(self) -> None:
        """Signals are the first thread's, in which no tool runs."""

    @contextmanager
    def busy(self) -> Generator[None]:
        """A slot is taken inside the block."""
        with self._lock:
            self._busy += 1
        try:
            yield
        finally:
            with self._lock:
                self._busy -= 1
            self._leave_if_useless()

    @contextmanager
    def running(self, call: str) -> Generator[None]:
        """Keep account of what runs and what goes on after its end."""
        with self._lock:
            self._running.add(call)
        try:
            with self._offspring.running(call):
                yield
        finally:
            self._over(call)

    def _over(self, call: str) -> None:
        with self._lock:
            self._running.discard(call)
            goes_on = call in self._given_up
            self._given_up.discard(call)
        if goes_on:
            log.info("worker.tool_returned", tool_call_id=call, slots_taken=len(self._given_up), slots=self._slots)

    def give_up(self, attempt: Attempt, record: Record) -> bool:
        """Record that the stop is not confirmed.

        A worker that is cut off has stopped all its calls, and what goes on in it must not: it leaves. So does one in
        which nothing but such tools is left, since it could take no call, or is to end.
        """
        call, stop = attempt.claimed.call, attempt.stop
        if stop is None or not attempt.give_up():
            return False
        attempt.offspring.kill()
        if stop.why == "cut_off":
            log.warning("worker.tool_goes_on", tool_call_id=call, why=stop.why)
            leave_process()
        if not record(attempt, attempt.as_stopped().model_copy(update={"confirmed": False})):
            return False
        with self._lock:
            self._given_up |= {call} & self._running
        log.warning(
            "worker.tool_goes_on", tool_call_id=call, why=stop.why, slots_taken=len(self._given_up), slots=self._slots
        )
        self._leave_if_useless()
        return True

    def drain(self) -> None:
        """No further call will come: what goes on after its end holds nobody up."""
        self._draining = True
        self._leave_if_useless()

    def _leave_if_useless(self) -> None:
        with self._lock:
            useless = len(self._given_up) >= (self._busy if self._draining else self._slots)
        if useless and self._given_up:
            log.warning("worker.only_stuck_tools", slots=self._slots)
            leave_process()
