"""`errands worker`: keeps one Celery worker alive and under a lease, from a process that does nothing else.

It adopts what the worker's processes leave behind, passes wishes on, notices every death below it, and starts again. It
imports no tool, so nothing in one can disturb it.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Literal

import redis
import structlog

from errands_config.settings import Settings
from errands_config.store import launcher_connection
from errands_config.wire import CallState
from errands_workers.incarnation import Incarnation
from errands_workers.leftovers import sweep_leftovers
from errands_workers.plan import EXIT_CONFIG, WorkerPlan
from errands_workers.processes import adopt_orphans

_TICK_SECONDS = 0.2
_SWEEP_SECONDS = 10.0
_SHORT_LIFE_SECONDS = 10.0
_MOST_SHORT_LIVES = 8
_LONGEST_PAUSE_SECONDS = 30.0
_FAREWELL_SECONDS = 3.0
_STOPPING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

log = structlog.get_logger()

End = Literal["stopped", "died", "settled"]


@dataclass(frozen=True, slots=True)
class Life:
    """How one incarnation ended. `calls`: what became of those that it still ran; `code`: of the Celery process."""

    end: End
    calls: Counter[str]
    code: int | None
    seconds: float

    @property
    def lost(self) -> int:
        """Calls that ended with it. One that is started again is not lost."""
        return self.calls.total() - self.calls[CallState.QUEUED]


class Launcher:
    """Runs incarnations one after another until it is told to stop."""

    def __init__(self, settings: Settings, plan: WorkerPlan, options: list[str]) -> None:
        self._settings = settings
        self._plan = plan
        self._options = options
        self._store = launcher_connection(settings)
        self._stops = 0
        self._stop_by = 0.0
        self._next_sweep = 0.0

    def run(self) -> int:
        """Serve; answers the exit code: 0 nothing lost, 1 calls lost or it cannot stay alive, 3 a bad plan."""
        adopt_orphans()
        short_lives = 0
        with _signals() as inbox:
            while True:
                life = self._live(inbox)
                given_back = life.calls[CallState.QUEUED]
                log.info("worker.ended", end=life.end, lost=life.lost, given_back=given_back, code=life.code)
                if life.end == "stopped":
                    return 1 if life.lost else 0
                if life.code == EXIT_CONFIG:
                    return EXIT_CONFIG
                short_lives = short_lives + 1 if life.seconds < _SHORT_LIFE_SECONDS and life.end == "died" else 0
                if short_lives > _MOST_SHORT_LIVES:
                    return 1
                if not self._rest(inbox, short_lives):
                    return 0

    def _rest(self, inbox: int, short_lives: int) -> bool:
        """Pause after a short life, longer each time; False if told to stop meanwhile."""
        until = time.monotonic() + min(_LONGEST_PAUSE_SECONDS, 0.25 * 2**short_lives if short_lives > 1 else 0)
        while time.monotonic() < until and not self._stops:
            self._hear(inbox)
        return not self._stops

    def _live(self, inbox: int) -> Life:
        worker = Incarnation(self._settings, self._plan, self._options, self._store)
        end = self._attend(worker, inbox)
        code = worker.exit_code
        worker.end()
        return Life(end, self._farewell(worker, end), code, time.monotonic() - worker.began)

    def _attend(self, worker: Incarnation, inbox: int) -> End:
        """Keep an incarnation alive until it ends or is to end. It begins once the store has heard of it."""
        next_beat, started = 0.0, False
        while worker.exit_code is None and not (self._stops and not started):
            now = time.monotonic()
            if now >= next_beat or worker.lost_one():
                next_beat = now + self._settings.beat_seconds
                answer = worker.beat()
                if answer and answer.state == "settled":
                    return "settled"
                if answer and not started:
                    worker.start()
                    started = True
            if self._is_over(worker, inbox):
                break
            worker.clear_orphans()
            self._sweep(worker, now)
        return "stopped" if self._stops else "died"

    def _is_over(self, worker: Incarnation, inbox: int) -> bool:
        """Wait a moment; True if the worker is to be ended now. The first request to stop lets running calls end."""
        before = self._stops
        self._hear(inbox)
        if self._stops and not before:
            log.info("worker.stopping", worker=worker.id)
            self._stop_by = time.monotonic() + self._settings.drain_seconds
            worker.stop()
        return self._stops > 1 or (self._stops == 1 and time.monotonic() > self._stop_by)

    def _hear(self, inbox: int) -> None:
        """Wait a moment, or until a signal comes, and count the requests to stop."""
        readable, _, _ = select.select([inbox], [], [], _TICK_SECONDS)
        if readable:
            self._stops += sum(number in _STOPPING for number in os.read(inbox, 512))

    def _sweep(self, worker: Incarnation, now: float) -> None:
        if now < self._next_sweep:
            return
        self._next_sweep = now + _SWEEP_SECONDS
        try:
            sweep_leftovers(self._store, sparing=worker.id)
        except redis.RedisError as away:
            log.info("worker.sweep_failed", error=type(away).__name__)

    def _farewell(self, worker: Incarnation, end: End) -> Counter[str]:
        """Settle what has ended. A store that is away is given a moment; then a sweeper does it."""
        give_up = time.monotonic() + _FAREWELL_SECONDS
        while True:
            try:
                drained = end == "stopped"
                return worker.settle("its worker was told to stop" if drained else "its worker died", drained=drained)
            except redis.RedisError as away:
                if time.monotonic() > give_up:
                    log.warning("worker.not_settled", worker=worker.id, error=type(away).__name__)
                    return Counter()
                time.sleep(_TICK_SECONDS)


@contextmanager
def _signals() -> Generator[int]:
    """A descriptor from which the numbers of signals can be read as they come."""
    here, there = os.pipe()
    os.set_blocking(here, False)
    os.set_blocking(there, False)
    before = {number: signal.signal(number, _noted) for number in (*_STOPPING, signal.SIGCHLD)}
    old = signal.set_wakeup_fd(there, warn_on_full_buffer=False)
    try:
        yield here
    finally:
        signal.set_wakeup_fd(old)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(here)
        os.close(there)


def _noted(_number: int, _frame: FrameType | None) -> None:
    """The number is in the descriptor already; without a handler there would be none."""
