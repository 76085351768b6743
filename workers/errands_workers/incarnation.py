"""One life of a worker: a Celery process, the lease it works under, and the board between it and its launcher."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson
import redis
import structlog

from errands_config import keys
from errands_config.scripts.script import run
from errands_config.scripts.workers import Beat, beat
from errands_config.settings import Settings
from errands_config.store import store_url
from errands_workers.board import Board
from errands_workers.nudges import NUDGE
from errands_workers.plan import INCARNATION_VARIABLE, PLAN_VARIABLE, WorkerPlan
from errands_workers.processes import children, is_dead, kill_below, send
from errands_workers.settling import settle_incarnation, settle_pool_process

SILENT_SECONDS = 2.0
"""A pool process whose watching thread has not looked for so long, though its call is to end, is killed."""
SHARED_SILENT_SECONDS = 10.0
"""The same for a process that runs several calls: with it goes what is nobody's fault, so it is given longer."""
_CLEARING_SECONDS = 0.5
_NOT_FOR_WORKERS = ("OPENAI_API_KEY", "ERRANDS_API_KEYS", "ERRANDS_SECRET_KEY")

log = structlog.get_logger()


class Incarnation:
    """One Celery process and what its launcher does for it. Every method but `start` may be called at any time."""

    def __init__(self, settings: Settings, plan: WorkerPlan, options: list[str], store: redis.Redis) -> None:
        self.id = secrets.token_hex(8)
        self.began = time.monotonic()
        self._settings = settings
        self._plan = plan
        self._options = options
        self._store = store
        self._board = Board.create()
        self._process: subprocess.Popen[bytes] | None = None
        self._pool: frozenset[int] = frozenset()
        self._queues = plan.queues
        self._since = 0
        self._is_ready = False
        self._met = ""
        """The store that it began with."""
        self._wished: dict[str, float] = {}

    # ---- the Celery process

    def start(self) -> None:
        """Start it. From the launcher's main thread: the process dies with the thread that started it."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "errands_workers.celery_process", *self._options],
            env=self._environment(os.environ),
            pass_fds=[self._board.descriptor],
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr.fileno(),
            start_new_session=True,
        )
        log.info("worker.started", worker=self.id, pid=self._process.pid)

    def _environment(self, own: Mapping[str, str]) -> dict[str, str]:
        """Ours without what only the orchestrator may hold."""
        kept = {name: value for name, value in own.items() if name not in _NOT_FOR_WORKERS}
        plan = self._plan.model_copy(update={"launcher": os.getpid(), "board": self._board.descriptor})
        return kept | {
            "ERRANDS_REDIS_URL": store_url(self._settings),
            INCARNATION_VARIABLE: self.id,
            PLAN_VARIABLE: plan.model_dump_json(),
        }

    @property
    def exit_code(self) -> int | None:
        """Of the Celery process; None while it lives."""
        return self._process.poll() if self._process else None

    def stop(self) -> None:
        """Ask it to take no more calls and to end after those that run, and let these know."""
        self._board.leave()
        if self._process and self.exit_code is None:
            send(self._process.pid, signal.SIGTERM)

    def end(self) -> None:
        """Kill all that is left of it: Celery, the pool, the tools, and what they left behind."""
        if self._process and self.exit_code is None:
            self._process.kill()
            self._process.wait()
        kill_below(os.getpid())
        self._board.close()

    def settle(self, reason: str, *, drained: bool) -> Counter[str]:
        """Say, after `end`, that nothing of it is left; answers what became of its calls. Raises redis-py's errors."""
        return settle_incarnation(self._store, self.id, reason, drained=drained)

    # ---- its lease

    def beat(self) -> Beat | None:
        """Say that it lives, and do what the answer asks for; None if the store did not answer."""
        try:
            answer = run(self._store, beat(self.id, self._facts()))
            self._board.answered()
            self._since = self._since or answer.now
            if self._met and answer.generation != self._met:
                log.error("worker.store_replaced", worker=self.id)
                return replace(answer, state="settled")  # whatever it holds is another store's
            self._met = answer.generation
            if answer.state == "ok":
                self._serve(answer)
        except redis.RedisError as away:
            log.info("worker.beat_failed", worker=self.id, error=type(away).__name__)
            return None
        return answer

    def _facts(self) -> dict[str, str]:
        return {
            "host": self._settings.host,
            "launcher": str(os.getpid()),
            "queues": ",".join(self._queues),
            "slots": str(self._plan.slots),
            "started": str(self._since or ""),
        }

    def _serve(self, answer: Beat) -> None:
        if not answer.offers and (offers := self._board.offers):
            self._publish(orjson.loads(offers))
        self._settle_dead(answer.calls)
        self._pass_on(answer.wishes, answer.calls)
        self._kill_silent(answer.calls)

    def _publish(self, ready: dict[str, Any]) -> None:
        self._queues = tuple(ready["queues"])
        if offers := ready["offers"]:
            self._store.hset(keys.catalogue(self.id), mapping=offers)
            self._store.expire(keys.catalogue(self.id), keys.CATALOGUE_SECONDS)
        if not self._is_ready:
            self._is_ready = True
            log.info("worker.ready", worker=self.id, tools=len(offers), queues=self._queues)

    def _settle_dead(self, calls: Mapping[str, int]) -> None:
        """A pool process that is in the answer began before it; if it is not there now, it is dead."""
        gone = set(calls.values()) - self._living_pool()
        if gone and not self.clear_orphans(_CLEARING_SECONDS):
            return  # something of the calls still dies: they are ended at the next beat
        for pid in gone:
            held = [call for call, of in calls.items() if of == pid]
            if lost := settle_pool_process(self._store, self.id, pid, held):
                log.warning("worker.pool_process_lost", worker=self.id, pid=pid, calls=dict(lost))

    def _pass_on(self, wishes: Mapping[str, str], calls: Mapping[str, int]) -> None:
        """Nudge the processes whose calls are to end, at every beat until they have."""
        now = time.monotonic()
        self._wished = {call: self._wished.get(call, now) for call in wishes if call in calls}
        for pid in {calls[call] for call in self._wished} & self._living_pool():
            send(pid, NUDGE)

    def _kill_silent(self, calls: Mapping[str, int]) -> None:
        """A tool that holds the interpreter's lock silences the thread that would end it: the process goes instead."""
        patience = time.monotonic() - (SILENT_SECONDS if self._plan.pool == "prefork" else SHARED_SILENT_SECONDS)
        wished = {calls[call] for call, since in self._wished.items() if since < patience}
        limit = patience * 1e9
        for sign in self._board.signs():
            is_due = sign.pid in wished or 0 < sign.due_ns < limit
            if is_due and sign.looked_ns < limit and sign.pid in self._living_pool():
                log.warning("worker.pool_process_silent", worker=self.id, pid=sign.pid)
                send(sign.pid, signal.SIGKILL)

    # ---- its processes

    def _living_pool(self) -> frozenset[int]:
        if not self._process:
            return frozenset()
        if self._plan.pool == "threads":  # the Celery process is the only one that runs calls
            return frozenset({self._process.pid} if self.exit_code is None else ())
        return frozenset(pid for pid in children(self._process.pid) if not is_dead(pid))

    def lost_one(self) -> bool:
        """Whether a pool process has gone since the last look: a reason to beat at once."""
        before, self._pool = self._pool, self._living_pool()
        return bool(before - self._pool)

    def clear_orphans(self, seconds: float = 0) -> bool:
        """Kill what dead processes of this incarnation left, which the launcher has adopted; whether none is left."""
        mine = {self._process.pid} if self._process else set[int]()
        return kill_below(os.getpid(), sparing=mine, seconds=seconds)
