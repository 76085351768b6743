"""A worker's own word that something of it is gone, so that nobody has to wait for its lease."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import redis

from errands_config import keys
from errands_config.scripts.calls import Place, settle_call
from errands_config.scripts.script import run
from errands_config.scripts.workers import settle


def settle_pool_process(store: redis.Redis, incarnation: str, pid: int, calls: Iterable[str]) -> Counter[str]:
    """Settle the calls of a pool process that is gone with everything that it began; answers their states now."""
    return _counted(_settle(store, incarnation, call, "its pool process died", pid=str(pid)) for call in calls)


def settle_incarnation(store: redis.Redis, incarnation: str, reason: str, *, drained: bool) -> Counter[str]:
    """Give up an incarnation of which nothing is left, and settle its calls; answers their states now.

    `drained`: the worker was told to go, so that its calls are not to blame for its end.
    """
    run(store, settle(incarnation))
    calls: Any = store.hkeys(keys.worker_calls(incarnation))
    return _counted(_settle(store, incarnation, call, reason, drained=drained) for call in calls)


def _counted(states: Iterable[str]) -> Counter[str]:
    return Counter(state for state in states if state)


def _settle(
    store: redis.Redis, incarnation: str, call: str, reason: str, *, pid: str = "", drained: bool = False
) -> str:
    record: Any = store.hmget(keys.call(call), *Place.FIELDS)
    place = Place.of(call, record)
    if place is None:
        store.hdel(keys.worker_calls(incarnation), call)
        return ""
    return run(store, settle_call(place, incarnation, pid=pid, reason=reason, drained=drained))
