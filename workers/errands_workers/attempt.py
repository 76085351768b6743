"""One call while it runs in this process: shared by the thread that runs it and the thread that watches it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from errands_config.scripts.attempts import Holder
from errands_config.wire import CallState, Claimed, Outcome
from errands_workers.offspring import EVERYTHING_BELOW, Offspring

PRESS_SECONDS = 0.5
"""Time between two attempts to end a tool that goes on."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Why a running call is ended. `lost`: it is not this worker's any more; `cut_off`: the store is out of reach."""

    why: Literal["cancelled", "timed_out", "lost", "cut_off"]
    by: str = ""
    reason: str = ""


class Attempt:
    """One attempt that this process holds.

    Either it ends by itself first (`end`), or it is asked to stop first (`ask_to_stop`): whichever comes first decides
    what is recorded, and the other changes nothing.
    """

    def __init__(
        self,
        claimed: Claimed,
        queue: str,
        holder: Holder,
        offspring: Offspring = EVERYTHING_BELOW,
        leaving: Callable[[], bool] = lambda: False,
    ) -> None:
        self.claimed = claimed
        self.queue = queue
        self.holder = holder
        self.offspring = offspring
        self.leaving = leaving
        """Whether the worker was told to go."""
        self.deadline = time.monotonic() + claimed.deadline_ms / 1000
        self.stopped = threading.Event()
        """Set once the call is to end; for the tool's own eyes."""
        self.stop: Stop | None = None
        self.stopped_at = 0.0
        self.piece: Attempt | None = None
        """What runs in its time at the moment, where that is watched in its own right."""
        self.given_up = False
        """Whether its end was told without the tool, which may still go on."""
        self._lock = threading.Lock()
        self._state: Literal["running", "ended", "abandoned"] = "running"
        self._press: Callable[[], None] | None = None
        self._patience = 5.0

    def ask_to_stop(self, stop: Stop) -> None:
        """Decide that the call is to end, unless that is decided or it has ended."""
        with self._lock:
            if self._state == "running" and self.stop is None:
                self.stop, self.stopped_at = stop, time.monotonic()
                self.stopped.set()
        if self.piece:
            self.piece.ask_to_stop(stop)

    @contextmanager
    def stoppable(self, press: Callable[[], None], patience: float) -> Generator[None]:
        """While the tool runs: how it is made to end, and how many seconds that may take in all."""
        with self._lock:
            self._press, self._patience = press, patience
        try:
            yield
        finally:
            with self._lock:
                self._press = None

    def press(self) -> None:
        """Make a tool that is to stop do so; called again while it goes on. Never after it ended."""
        with self._lock:
            if self._press and self._state == "running":
                self._press()

    @property
    def out_of_patience_at(self) -> float:
        """When a call that was asked to stop is ended without its tool's doing."""
        return self.stopped_at + self._patience

    def end(self) -> Stop | None:
        """The tool is over. Answers why it was stopped; None if it ended by itself first. Safe to repeat."""
        with self._lock:
            if self._state == "running":
                self._state = "ended"
            abandoned = self._state == "abandoned"
        while abandoned:  # the watching thread records the end and takes the process with it
            time.sleep(1)
        return self.stop

    def abandon(self) -> bool:
        """Take the call from the thread that runs it; False if the tool has ended after all."""
        with self._lock:
            if self._state == "running":
                self._state = "abandoned"
            return self._state == "abandoned"

    def give_up(self) -> bool:
        """Its end is told now, and nothing of the call may follow the tool; False if the tool has ended after all."""
        with self._lock:
            self.given_up = self.given_up or self._state == "running"
            return self._state == "running"

    def as_stopped(self) -> Outcome:
        """How it is recorded if it was stopped."""
        assert self.stop
        return stopped_outcome(self.claimed, self.stop)


def stopped_outcome(claimed: Claimed, stop: Stop) -> Outcome:
    """How a call that was stopped is recorded."""
    match stop.why:
        case "cancelled":
            return Outcome(state=CallState.CANCELLED, by=stop.by, reason=stop.reason)
        case "timed_out":
            return Outcome(state=CallState.TIMED_OUT, timeout_seconds=claimed.policy.timeout_seconds)
        case "lost":
            return failed("the worker did not hold this call any more and stopped it", "lost")
        case "cut_off":
            return failed("the worker could not reach the store for too long and stopped the tool", "cut off")


def failed(error: str, kind: str) -> Outcome:
    """A call that failed. `kind` goes into events and logs, so nothing of the call's content may be in it."""
    return Outcome(state=CallState.FAILED, error=error, error_kind=kind)
