"""A worker's own word that something of it is gone, so that nobody has to wait for its lease."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import redis

from errands_config import keys
from errands_config.scripts.calls import Place, settle_call
from errands_config.scripts.script import run
from errands_config.scripts.workers import settle


def settle_pool_process(store: redis.Redis, incarnation: str, pid: int, calls: Iterable[str]) -> int:
    """End the calls of a pool process that is gone with everything that it began; answers how many it ended."""
    return sum(_settle(store, incarnation, call, str(pid), "its pool process died") for call in calls)


def settle_incarnation(store: redis.Redis, incarnation: str, reason: str) -> int:
    """Give up an incarnation of which nothing is left, and end its calls; answers how many it ended."""
    run(store, settle(incarnation))
    calls: Any = store.hkeys(keys.worker_calls(incarnation))
    return sum(_settle(store, incarnation, call, "", reason) for call in calls)


def _settle(store: redis.Redis, incarnation: str, call: str, pid: str, reason: str) -> bool:
    record: Any = store.hmget(keys.call(call), *Place.FIELDS)
    place = Place.of(call, record)
    if place is None:
        store.hdel(keys.worker_calls(incarnation), call)
        return False
    return bool(run(store, settle_call(place, incarnation, pid=pid, reason=reason)))
