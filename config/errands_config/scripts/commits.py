"""The commit: one step of a session, written at once."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from errands_config import keys
from errands_config.scripts.script import Invocation, Script
from errands_config.scripts.sessions import Answered, Rest, read_answered

_COMMIT = Script(
    "commit",
    keys=(
        "session", "log", "mail", "events", "all_events", "calls", "names", "handles", "idempotency", "due", "watch",
        "queues",
    ),
    args=(
        "sid", "token", "version", "commit", "cursor", "heard", "trim", "snapshot", "lease", "payload", "status",
        "moment", "offer",
    ),
    shared=("final", "events", "record", "outcome", "parking"),
)  # fmt: skip
_NO_REST = Rest("")


@dataclass(frozen=True, slots=True)
class Record:
    """A call's record as a commit writes it: `waiting`, or ended before it began."""

    id: str
    fields: Mapping[str, str]
    key: str = ""
    """Its idempotency key, bound to it from now on."""
    likeness: str = ""
    """Kept with the key: of the call that it was bound to."""
    again: bool = False
    """It stands there, waiting, and is settled now; nothing is written if it does not wait any more."""


@dataclass(frozen=True, slots=True)
class End:
    """The end of a call that waits; nothing is written if it does not any more."""

    id: str
    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Publication:
    """A waiting call that becomes queued. `message` goes on the queue's list; empty: the dispatcher sends it."""

    id: str
    queue: str
    queue_timeout_ms: int
    message: str


@dataclass(frozen=True, slots=True)
class Commit:
    """One step, to be written at once."""

    id: str
    """The same commit again is answered `ok` again."""
    version: int
    cursor: str
    snapshot: str
    heard: int = 0
    """Letters that the session has done with, of those that count against the mailbox's bound."""
    log: tuple[str, ...] = ()
    records: tuple[Record, ...] = ()
    ends: tuple[End, ...] = ()
    publish: tuple[Publication, ...] = ()
    events: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Kind, and names and values in a row."""


def commit(sid: str, token: str, step: Commit, lease_ms: int, rest: Rest | None = None) -> Invocation[Answered]:
    """Write one step of an owned session; `stale` when the session has another owner or another version.

    With a `rest` park it behind that, and answer as `park` does.
    """
    named = {
        "session": keys.session(sid), "log": keys.log(sid), "mail": keys.mail(sid), "events": keys.events(sid),
        "all_events": keys.EVENTS, "calls": keys.calls(sid), "names": keys.names(sid),
        "handles": keys.handles(sid), "idempotency": keys.idempotency(sid), "due": keys.DUE, "watch": keys.WATCH,
        "queues": keys.QUEUES,
    }  # fmt: skip
    args = {
        "sid": sid, "token": token, "version": step.version, "commit": step.id, "cursor": step.cursor,
        "heard": step.heard, "trim": _after(step.cursor), "snapshot": step.snapshot, "lease": lease_ms,
        "payload": _payload(step), **(rest or _NO_REST).args(),
    }  # fmt: skip
    return _COMMIT.use(named, args, read_answered, _touched(step))


def _touched(step: Commit) -> tuple[str, ...]:
    records = (keys.call(r.id) for r in (*step.records, *step.ends))
    published = (k for p in step.publish for k in (keys.call(p.id), keys.queued(p.queue), p.queue))
    return tuple(dict.fromkeys((*records, *published)))


def _payload(step: Commit) -> str:
    body = {
        "log": step.log,
        "events": step.events,
        "records": [_written(r) for r in step.records],
        "ends": [{"id": e.id, "key": keys.call(e.id), "fields": e.fields} for e in step.ends],
        "publish": [
            {
                "id": p.id, "key": keys.call(p.id), "queue": p.queue, "queued": keys.queued(p.queue), "list": p.queue,
                "message": p.message, "queue_timeout_ms": p.queue_timeout_ms,
            }
            for p in step.publish
        ],
    }  # fmt: skip
    return orjson.dumps(body).decode()


def _written(record: Record) -> dict[str, object]:
    form: dict[str, object] = {"id": record.id, "key": keys.call(record.id), "fields": record.fields}
    if record.key:
        # foreign text: kept as its digest alone
        form["bound"] = (idempotency_digest(record.key), record.likeness)
    return form | ({"again": True} if record.again else {})


def idempotency_digest(key: str) -> str:
    """How an idempotency key stands in the store."""
    return hashlib.sha256(key.encode()).hexdigest()


def _after(stream_id: str) -> str:
    """The smallest id that is later: everything up to the cursor is trimmed."""
    if stream_id == "0-0":
        return ""
    ms, seq = stream_id.split("-")
    return f"{ms}-{int(seq) + 1}"
