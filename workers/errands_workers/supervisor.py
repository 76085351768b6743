"""The thread of a process that watches the calls in it: deadlines, wishes, a store out of reach, and the ladder.

The ladder: a tool is asked to end, again every half second; when its patience is over, its call is brought to an end
without it, as the process's manner says.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

import redis
import structlog

from errands_config import keys
from errands_config.scripts.attempts import finish
from errands_config.scripts.script import run
from errands_config.settings import Settings
from errands_config.store import launcher_connection
from errands_config.wire import Outcome
from errands_workers.attempt import PRESS_SECONDS, Attempt, Stop
from errands_workers.board import BoardSlot
from errands_workers.manner import Manner
from errands_workers.processes import leave_process
from errands_workers.recent_finishes import RecentFinishes

LOOK_SECONDS = 0.5
"""The thread looks at least that often; the launcher takes one that misses several for silent."""
_LOOK_AGAIN_SECONDS = 0.2
"""A nudge may overtake the wish that it is about, so the wish is read again for so long."""
_BETWEEN_READS_SECONDS = 0.04

log = structlog.get_logger()


class _Watch:
    """One call while it is watched."""

    def __init__(self, attempt: Attempt) -> None:
        self.attempt = attempt
        self.press_at = 0.0
        self.given_up = False

    def next_look(self) -> float:
        """When there is something to do, unless something happens before; a reading of `time.monotonic`."""
        if self.given_up:
            return float("inf")
        if self.attempt.stop:
            return min(self.press_at, self.attempt.out_of_patience_at)
        return self.attempt.deadline


class Supervisor(threading.Thread):
    """Watches the calls of one process."""

    def __init__(
        self, settings: Settings, manner: Manner, sign: BoardSlot, silence: Callable[[], float], recent: RecentFinishes
    ) -> None:
        """`sign` is where it shows that it lives; `silence` tells how many seconds the store has not answered."""
        super().__init__(name="supervisor", daemon=True)
        self._store = launcher_connection(settings)
        self._partition_seconds = settings.partition_seconds
        self._manner = manner
        self._sign = sign
        self._silence = silence
        self._recent = recent
        self._parent = os.getppid()
        self._lock = threading.Lock()
        self._watches: list[_Watch] = []
        self._look_until = 0.0

    @contextmanager
    def watching(self, attempt: Attempt) -> Generator[None]:
        """Watch a call while the block runs; for the thread that runs it."""
        watch = _Watch(attempt)
        with self._lock:
            self._watches.append(watch)
            self._show_due()
        if attempt.deadline - time.monotonic() < LOOK_SECONDS:
            self._manner.nudges.nudge()
        try:
            yield
        finally:
            with self._lock:
                self._watches.remove(watch)
                self._show_due()

    def _show_due(self) -> None:
        self._sign.due(min((watch.attempt.deadline for watch in self._watches if not watch.given_up), default=None))

    def run(self) -> None:
        """Look, for ever."""
        while True:
            nudged = self._manner.nudges.wait(self._pause(time.monotonic()))
            try:
                self._look(nudged=nudged)
                self.meet_store()
            except Exception as defect:  # calls that nobody watches are worse than some that are watched badly
                log.error("worker.supervisor_defect", error=type(defect).__name__)

    def _watched(self) -> list[_Watch]:
        with self._lock:
            return [watch for watch in self._watches if not watch.given_up]

    def _pause(self, now: float) -> float:
        watched = self._watched()
        again = _BETWEEN_READS_SECONDS if now < self._look_until and watched else LOOK_SECONDS
        return min(again, *(watch.next_look() - now for watch in watched), LOOK_SECONDS)

    def _look(self, *, nudged: bool) -> None:
        now = time.monotonic()
        self._sign.looked()
        if os.getppid() != self._parent:  # whoever keeps this process alive is gone, and nothing may outlive it
            leave_process()
        if nudged:
            self._look_until = now + _LOOK_AGAIN_SECONDS
        watched = self._watched()
        self._decide([watch.attempt for watch in watched if not watch.attempt.stop], now)
        for watch in watched:
            if watch.attempt.stop:
                self._press(watch, now)

    def _decide(self, attempts: Sequence[Attempt], now: float) -> None:
        """Ask those to stop that have a reason to."""
        _ask([attempt for attempt in attempts if now >= attempt.deadline], Stop("timed_out"))
        if self._silence() > self._partition_seconds:
            _ask(attempts, Stop("cut_off"))
        if now < self._look_until:
            for attempt, stop in self._wishes([attempt for attempt in attempts if not attempt.stop]):
                _ask([attempt], stop)

    def _wishes(self, attempts: Sequence[Attempt]) -> list[tuple[Attempt, Stop]]:
        """Which calls are to end as their records say, and why. Nobody's wish is nothing, whoever nudged."""
        try:
            with self._store.pipeline(transaction=False) as pipe:
                for attempt in attempts:
                    pipe.hmget(keys.call(attempt.claimed.call), "state", "token", "wish", "wish_by", "wish_reason")
                    pipe.hget(keys.wishes(attempt.holder.worker), attempt.claimed.call)
                answers = pipe.execute()
        except redis.RedisError:
            return []  # the launcher nudges again as long as a wish stands
        read = zip(attempts, answers[::2], answers[1::2], strict=True)
        return [(attempt, stop) for attempt, record, told in read if (stop := _wish(attempt, record, told))]

    def meet_store(self) -> None:
        """Send again what a store that has died since may have forgotten. Once before any call, to know the store."""
        try:
            again = self._recent.meet(self._store)
        except redis.RedisError:
            return  # away: they are kept until it is back
        if again:
            log.warning("worker.finishes_sent_again", count=again)

    def _press(self, watch: _Watch, now: float) -> None:
        if now >= watch.attempt.out_of_patience_at:
            watch.given_up = self._manner.give_up(watch.attempt, self._record)
            watch.press_at = now + LOOK_SECONDS
        elif now >= watch.press_at:
            watch.attempt.press()
            watch.press_at = now + PRESS_SECONDS

    def _record(self, attempt: Attempt, outcome: Outcome) -> bool:
        entered = finish(attempt.claimed, attempt.holder, attempt.queue, outcome)
        try:
            run(self._store, entered)
        except redis.RedisError as away:
            log.warning("worker.finish_failed", tool_call_id=attempt.claimed.call, error=type(away).__name__)
            return False
        self._recent.add(entered)
        return True


def _ask(attempts: Sequence[Attempt], stop: Stop) -> None:
    for attempt in attempts:
        attempt.ask_to_stop(stop)


def _wish(attempt: Attempt, record: Sequence[str | None], told: Any) -> Stop | None:
    state, token, wish, by, reason = record
    if state != "running" or token != attempt.claimed.token:
        return Stop("lost")
    if wish == "cancel":
        return Stop("cancelled", by or "", reason or "")
    return Stop("timed_out", by="deadline") if told == "deadline" else None
