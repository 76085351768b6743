"""Who owns a key of the store, by the dictionary in `errands_config.keys`: every key has an owner or a time to live."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import redis

from errands_config import keys

Owner = Literal["deployment", "session", "call", "worker", "limit", "queue", "definition", "broker", "nobody"]

_ID = r"([0-9A-Za-z-]+)"
_DEPLOYMENT = {
    keys.STORE, keys.SESSIONS, keys.DUE, keys.BELL, keys.QUEUES, keys.WATCH, keys.WORKERS, keys.SETTLED, keys.AGENTS,
    keys.EVENTS, keys.SWEEP,
}  # fmt: skip
_OF_SESSION = "log|mail|events|calls|names|handles|idempotency"
_BY_NAME: tuple[tuple[re.Pattern[str], Owner], ...] = (
    (re.compile(rf"errands:s:{_ID}(?::(?:{_OF_SESSION}|mail:[0-9a-f]{{40}}))?"), "session"),
    (re.compile(rf"errands:c:{_ID}(?::(?:progress|output))?"), "call"),
    (re.compile(rf"errands:w:{_ID}(?::(?:calls|wishes))?"), "worker"),
    (re.compile(rf"errands:catalogue:{_ID}"), "worker"),
    (re.compile(r"errands:limit:([A-Za-z0-9_-]+)(?::(?:waiting|starts))?"), "limit"),
    (re.compile(r"errands:(?:queued|queue):([^:]+)"), "queue"),
    (re.compile(rf"errands:(?:agent|toolset):{_ID}"), "definition"),
    (re.compile(r"_kombu\.(?:binding(?:_permanent)?\.(.+)|binding_deadlines)"), "broker"),
)


@dataclass(frozen=True, slots=True)
class Owned:
    """Whose a key is. `id`: of that session, call, worker, limit or queue."""

    owner: Owner
    id: str = ""


def owner_of(key: str, queues: frozenset[str] = frozenset()) -> Owned:
    """Whose a key is, by its name alone. `queues` are the lists of messages."""
    if key in _DEPLOYMENT:
        return Owned("deployment")
    if key in queues:
        return Owned("queue", key)
    for pattern, owner in _BY_NAME:
        if found := pattern.fullmatch(key):
            return Owned(owner, found[1] or "")
    return Owned("nobody")


def leaks(store: redis.Redis) -> list[str]:
    """The keys that neither expire nor belong to an existing session or a live worker, and the index entries of what
    does not exist. For a store in which nothing goes on.
    """
    queues: Any = store.smembers(keys.QUEUES)
    found: Any = sorted(store.scan_iter(count=1000))
    unowned = [key for key in found if store.ttl(key) < 0 and not _is_kept(store, owner_of(key, frozenset(queues)))]
    return [*unowned, *_of_indexes(store)]


def _is_kept(store: redis.Redis, owned: Owned) -> bool:
    """Whether the owner exists."""
    match owned.owner:
        case "deployment" | "queue" | "broker":
            return True
        case "session":
            return store.zscore(keys.SESSIONS, owned.id) is not None
        case "call":
            session: Any = store.hget(keys.call(owned.id), "session")
            return bool(session) and store.zscore(keys.calls(session), owned.id) is not None
        case "worker":
            return store.zscore(keys.WORKERS, owned.id) is not None
        case _:  # an empty zset is no key, so a limit that exists is held or waited for
            return False


def _of_indexes(store: redis.Redis) -> Iterator[str]:
    """Members of indexes that stand for nothing."""
    for index, record in ((keys.DUE, keys.session), (keys.SESSIONS, keys.session), (keys.WATCH, keys.call)):
        members: Any = store.zrange(index, 0, -1)
        yield from (f"{member} in {index}" for member in members if not store.exists(record(member)))
    queues: Any = store.smembers(keys.QUEUES)
    for queue in queues:
        left: Any = store.zrange(keys.queued(queue), 0, -1)
        yield from (f"{call} in {keys.queued(queue)}" for call in left)
