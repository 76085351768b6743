"""Our `revoke` and `terminate` in place of Celery's: to revoke a task is to cancel the call, and kills no process.

A revoke is a wish like any other, by `operator`, unless a wish stands already: then it only says "look now", which is
how the orchestrator uses it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from typing import Any

import redis
import structlog
from celery.worker.control import Panel
from celery.worker.state import revoked

from errands_config import keys
from errands_config.scripts.calls import Place, cancel
from errands_config.scripts.script import run
from errands_config.settings import Settings
from errands_config.store import launcher_connection
from errands_workers.nudges import NUDGE
from errands_workers.processes import send

log = structlog.get_logger()

_CELERY_ID = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:\.[0-9a-z]{1,32})?")
_REASON = "revoked"
_TRIES = 3

Answer = dict[str, str]


def replace_revoke(settings: Settings) -> None:
    """From now on the worker of this process answers these three remote commands as Errands does."""

    def revoke(state: Any, task_id: str | list[str], **_: Any) -> Answer:
        return _revoke(settings, _ids(task_id), _pool_pids(state))

    def terminate(state: Any, signal: Any = None, task_id: str | list[str] = "", **_: Any) -> Answer:
        return _revoke(settings, _ids(task_id), _pool_pids(state))

    def revoke_by_stamped_headers(state: Any, headers: Any = None, **_: Any) -> Answer:
        return {"error": "calls have no stamped headers; revoke them by id"}

    Panel.data.update(revoke=revoke, terminate=terminate, revoke_by_stamped_headers=revoke_by_stamped_headers)


def call_of(celery_id: str) -> str | None:
    """The call that a Celery id is about: `<call>` or `<call>.<attempt or repeat>`; None if it is no such id."""
    found = _CELERY_ID.fullmatch(celery_id)
    return found.group(1) if found else None


def _ids(task_id: str | Iterable[Any]) -> list[str]:
    return [task_id] if isinstance(task_id, str) else [str(one) for one in task_id]


def _pool_pids(state: Any) -> Callable[[], Collection[int]]:
    return lambda: state.consumer.pool.info.get("processes", ())


def _revoke(settings: Settings, celery_ids: list[str], pool_pids: Callable[[], Collection[int]]) -> Answer:
    calls = {celery_id: call_of(celery_id) for celery_id in celery_ids}
    if bad := [celery_id for celery_id, call in calls.items() if call is None]:
        return {"error": f"no id of a call: {bad[0][:80]!r}"}
    revoked.update(celery_ids)  # so that Celery drops the copies that still wait
    answers: list[str] = []
    with launcher_connection(settings) as store:
        for call in dict.fromkeys(filter(None, calls.values())):
            try:
                answers.append(f"{call}: {_cancel(store, call, pool_pids)}")
            except redis.RedisError as away:
                log.warning("worker.revoke_failed", tool_call_id=call, error=type(away).__name__)
                return {"error": "the store does not answer; revoke again"}
    return {"ok": ", ".join(answers)}


def _cancel(store: redis.Redis, call: str, pool_pids: Callable[[], Collection[int]]) -> str:
    """Record the wish if none stands, and nudge the process that runs the call if it is one of ours."""
    for _ in range(_TRIES):
        record: Any = store.hmget(keys.call(call), "state", "pid", *Place.FIELDS)
        state, pid, *fields = record
        place = Place.of(call, fields)
        if place is None:
            return "unknown"
        if state == "running" and store.hexists(keys.wishes(place.worker), call):
            _nudge(pid, pool_pids())
            return "asked"
        answer = run(store, cancel(place, by="operator", reason=_REASON))
        if answer.outcome == "asked":
            _nudge(answer.pid, pool_pids())
        if answer.outcome != "moved":
            return answer.state or answer.outcome
    return "moved"


def _nudge(pid: str | None, pool_pids: Collection[int]) -> None:
    if pid and int(pid) in pool_pids:
        send(int(pid), NUDGE)
