"""Which keys of a store nobody owns and nothing ends: there must be none."""

from __future__ import annotations

import re

import redis.asyncio

from errands_config import keys
from errands_orchestrator import reads

_ONE_OF_A_KIND = frozenset({
    keys.STORE, keys.SESSIONS, keys.DUE, keys.BELL, keys.QUEUES, keys.WATCH, keys.WORKERS, keys.SETTLED, keys.AGENTS,
    keys.EVENTS, keys.SWEEP,
})  # fmt: skip
"""Indexes and capped lists; what they hold is looked at by tests of their own."""
_OF_SESSION = re.compile(r"errands:s:([^:]+)(:.*)?")
_OF_CALL = re.compile(r"errands:c:([^:]+)(:progress|:output)?")
_OF_WORKER = re.compile(r"errands:(?:w|catalogue):([^:]+)(:.*)?")
_OF_QUEUE = re.compile(r"errands:queued?:(.+)")
_OF_LIMIT = re.compile(r"errands:limit:.+")


async def unowned(store: redis.asyncio.Redis) -> list[str]:
    """The keys that belong to no session, call, worker or queue that is there, and that will not expire."""
    return sorted([key async for key in store.scan_iter("errands:*") if not await _is_owned(store, key)])


async def _is_owned(store: redis.asyncio.Redis, key: str) -> bool:
    if key in _ONE_OF_A_KIND or await store.ttl(key) >= 0:
        return True
    if found := _OF_SESSION.fullmatch(key):
        return bool(await store.exists(keys.session(found[1])))
    if found := _OF_CALL.fullmatch(key):
        return await _is_call_owned(store, found[1])
    if found := _OF_WORKER.fullmatch(key):
        beats = {**await reads.scores(store, keys.WORKERS), **await reads.scores(store, keys.SETTLED)}
        return found[1] in beats
    if found := _OF_QUEUE.fullmatch(key):
        return found[1] in await reads.members(store, keys.QUEUES)
    return bool(_OF_LIMIT.fullmatch(key))


async def _is_call_owned(store: redis.asyncio.Redis, cid: str) -> bool:
    try:
        sid = await reads.field(store, keys.call(cid), "session")
    except redis.ResponseError:
        return False
    return bool(sid) and await store.zscore(keys.calls(sid or ""), cid) is not None
