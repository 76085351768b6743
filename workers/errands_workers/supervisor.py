"""The thread of a pool process that watches its one call: deadline, wishes, a store out of reach, and the ladder.

The ladder: the tool is asked to end, again every half second; when its patience is over, everything that the call began
is killed, its end is recorded, and the process, in which something of the tool still runs, is left for good.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import NoReturn

import redis
import structlog

from errands_config import keys
from errands_config.scripts.attempts import finish
from errands_config.scripts.script import run
from errands_config.settings import Settings
from errands_config.store import launcher_connection
from errands_workers.attempt import PRESS_SECONDS, Attempt, Stop, stopped_outcome
from errands_workers.board import BoardSlot
from errands_workers.nudges import NUDGE, wait_for_nudge
from errands_workers.processes import kill_below, leave_process

LOOK_SECONDS = 0.5
"""The thread looks at least that often; the launcher takes one that misses several for silent."""
_LOOK_AGAIN_SECONDS = 0.2
"""A nudge may overtake the wish that it is about, so the wish is read again for so long."""
_BETWEEN_READS_SECONDS = 0.04

log = structlog.get_logger()


class Supervisor(threading.Thread):
    """Watches the calls of one pool process, one at a time."""

    def __init__(self, settings: Settings, sign: BoardSlot, silence: Callable[[], float]) -> None:
        """`sign` is where it shows that it lives; `silence` tells how many seconds the store has not answered."""
        super().__init__(name="supervisor", daemon=True)
        self._store = launcher_connection(settings)
        self._partition_seconds = settings.partition_seconds
        self._sign = sign
        self._silence = silence
        self._parent = os.getppid()
        self._attempt: Attempt | None = None
        self._look_until = 0.0
        self._press_at = 0.0

    @contextmanager
    def watching(self, attempt: Attempt) -> Generator[None]:
        """Watch a call while the block runs; for the thread that runs it."""
        self._press_at = 0.0
        self._attempt = attempt
        self._sign.due(attempt.deadline)
        if attempt.deadline - time.monotonic() < LOOK_SECONDS:
            self.nudge()
        try:
            yield
        finally:
            self._attempt = None
            self._sign.due(None)

    def nudge(self) -> None:
        """Have it look now."""
        if self.ident:
            signal.pthread_kill(self.ident, NUDGE)

    def run(self) -> None:
        """Look, for ever."""
        while True:
            nudged = wait_for_nudge(self._pause(time.monotonic()))
            try:
                self._look(nudged=nudged)
            except Exception as defect:  # a call that nobody watches is worse than one that is watched badly
                log.error("worker.supervisor_defect", error=type(defect).__name__)

    def _pause(self, now: float) -> float:
        attempt = self._attempt
        if attempt is None:
            return LOOK_SECONDS
        if attempt.stop:
            return min(LOOK_SECONDS, self._press_at - now, attempt.out_of_patience_at - now)
        again = _BETWEEN_READS_SECONDS if now < self._look_until else LOOK_SECONDS
        return min(again, attempt.deadline - now)

    def _look(self, *, nudged: bool) -> None:
        now = time.monotonic()
        self._sign.looked()
        if os.getppid() != self._parent:  # the Celery process is gone, and nothing may outlive it
            leave_process()
        if nudged:
            self._look_until = now + _LOOK_AGAIN_SECONDS
        attempt = self._attempt
        if attempt and not attempt.stop:
            self._decide(attempt, now)
        if attempt and attempt.stop:
            self._press(attempt, now)

    def _decide(self, attempt: Attempt, now: float) -> None:
        if now >= attempt.deadline:
            attempt.ask_to_stop(Stop("timed_out"))
        elif self._silence() > self._partition_seconds:
            attempt.ask_to_stop(Stop("cut_off"))
        elif now < self._look_until and (stop := self._wish(attempt)):
            attempt.ask_to_stop(stop)

    def _wish(self, attempt: Attempt) -> Stop | None:
        """Why the record says that the call is to end. Nobody's wish is nothing, whoever nudged."""
        call = attempt.claimed.call
        try:
            with self._store.pipeline(transaction=False) as pipe:
                pipe.hmget(keys.call(call), "state", "token", "wish", "wish_by", "wish_reason")
                pipe.hget(keys.wishes(attempt.holder.worker), call)
                (state, token, wish, by, reason), told = pipe.execute()
        except redis.RedisError:
            return None  # the launcher nudges again as long as the wish stands
        if state != "running" or token != attempt.claimed.token:
            return Stop("lost")
        if wish == "cancel":
            return Stop("cancelled", by or "", reason or "")
        return Stop("timed_out") if told == "deadline" else None

    def _press(self, attempt: Attempt, now: float) -> None:
        if now >= attempt.out_of_patience_at:
            if attempt.abandon():
                self._end_here(attempt, attempt.stop)
            self._press_at = now + LOOK_SECONDS
        elif now >= self._press_at:
            attempt.press()
            self._press_at = now + PRESS_SECONDS

    def _end_here(self, attempt: Attempt, stop: Stop | None) -> NoReturn:
        """Record the end of a tool that does not end, and leave the process to it. What fails, the launcher does."""
        assert stop
        log.warning("worker.tool_goes_on", tool_call_id=attempt.claimed.call, why=stop.why)
        kill_below(os.getpid())
        try:
            run(
                self._store,
                finish(attempt.claimed, attempt.holder, attempt.queue, stopped_outcome(attempt.claimed, stop)),
            )
        except redis.RedisError as away:
            log.warning("worker.finish_failed", tool_call_id=attempt.claimed.call, error=type(away).__name__)
        leave_process()
