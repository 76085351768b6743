"""Sessions and calls brought into a wanted state by scripts alone, and a client that may touch declared keys only."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, Literal, TypeVar, cast

import redis

from errands_config import keys
from errands_config.scripts import attempts, calls, commits, sessions, workers
from errands_config.scripts.attempts import Holder
from errands_config.scripts.calls import Place
from errands_config.scripts.commits import Commit, Publication, Record
from errands_config.scripts.deferred import Deferred, deferral_fields
from errands_config.scripts.deferred import defer as defer_script
from errands_config.scripts.script import Invocation, run
from errands_config.scripts.sessions import Acquired, Definitions
from errands_config.settings import Settings
from errands_config.store import plain
from errands_config.wire import CallPolicy, CallState, Claimed, Deferral, Outcome, TaskMessage

T = TypeVar("T")

MADE_OF = Definitions("agent-digest", '{"slug":"a"}', "toolset-digest", "[]")
LEASE_MS = 60_000
TOOL, QUEUE = "work", "default"
Kind = Literal["policy", "hook", "tool", "question"]
LONGEST_WAIT = 3600
"""Seconds that a call waits for somebody outside."""
HOLDER = Holder("w1", 11)
DONE = Outcome(state=CallState.COMPLETED, result="fine")

_TIMES = re.compile(r"\b\d{13}(-\d+)?\b")


class DeclaredOnly:
    """Runs scripts as a user whose rights are exactly the keys that the invocation declares."""

    def __init__(self, settings: Settings) -> None:
        self._admin = plain(settings)
        self._admin.execute_command("ACL", "SETUSER", "declared", "on", "nopass", "+@all", "&*", "resetkeys")
        self._client = plain(settings)
        self._client.connection_pool.connection_kwargs["username"] = "declared"
        self._client.connection_pool.connection_kwargs["password"] = "any"

    def run(self, invocation: Invocation[T]) -> T:
        patterns = [f"~{key}" for key in dict.fromkeys(invocation.keys)]
        self._admin.execute_command("ACL", "SETUSER", "declared", "resetkeys", *patterns)
        return run(self._client, invocation)

    def close(self) -> None:
        self._client.close()
        self._admin.execute_command("ACL", "DELUSER", "declared")
        self._admin.close()


def policy(**more: Any) -> CallPolicy:
    limits = {"timeout_seconds": 600.0, "queue_timeout_seconds": 3600.0}
    return CallPolicy.model_validate({"disposition": "runAsync", **limits, **more})


def new_record(cid: str, provider_id: str = "p1", *, call_policy: CallPolicy | None = None, **more: str) -> Record:
    fields = {
        "agent": "a", "tool": TOOL, "arguments": "{}", "provider_id": provider_id, "turn": "1", "position": "0",
        "policy": (call_policy or policy()).model_dump_json(), "queue": QUEUE, "state": "waiting",
    }  # fmt: skip
    limits = " ".join(limit.name for limit in call_policy.limits) if call_policy else ""
    return Record(cid, fields | ({"limits": limits} if limits else {}) | more)


def publication(cid: str, *, queue: str = QUEUE, queue_timeout_ms: int = 3_600_000) -> Publication:
    return Publication(cid, queue, queue_timeout_ms, f"message of {cid}")


@dataclass
class Scene:
    """A store with one owned session, `s1`; its calls are made by commits of its owner, `t1`."""

    store: redis.Redis
    sid: str = "s1"
    token: str = "t1"
    version: int = 0
    cursor: str = "0-0"
    commits: count[int] = field(default_factory=lambda: count(1))

    def run(self, invocation: Invocation[T]) -> T:
        return run(self.store, invocation)

    # ---- the session

    def create(self, text: str = "hello") -> Invocation[Literal["created", "exists"]]:
        return sessions.create(self.sid, "a", MADE_OF, text=text)

    def acquire(self, token: str = "", *, lease_ms: int = LEASE_MS, **more: bool) -> Invocation[Acquired | str]:
        return cast("Any", sessions.acquire(self.sid, token or self.token, "errands:owner:o1", lease_ms, **more))

    def step(self, **more: Any) -> Commit:
        plain: dict[str, Any] = {"version": self.version, "cursor": self.cursor, "snapshot": "{}"}
        return Commit(f"commit{next(self.commits)}", **plain | more)

    def commit(self, token: str = "", **more: Any) -> Invocation[sessions.Answered]:
        return commits.commit(self.sid, token or self.token, self.step(**more), LEASE_MS)

    def committed(self, **more: Any) -> sessions.Answered:
        answer = self.run(self.commit(**more))
        assert answer.outcome == "ok"
        self.version += 1
        self.cursor = more.get("cursor", self.cursor)
        return answer

    def owned(self) -> Acquired:
        self.run(self.create())
        got = self.run(self.acquire())
        assert isinstance(got, Acquired)
        self.version, self.cursor = got.head.version, got.head.cursor
        return got

    def letters(self) -> list[dict[str, str]]:
        entries = cast("list[tuple[str, dict[str, str]]]", self.store.xrange(keys.mail(self.sid)))
        return [fields for _, fields in entries]

    # ---- its calls

    def waiting(self, cid: str = "c1", **more: Any) -> None:
        self.committed(records=(new_record(cid, **more),))

    def queued(self, cid: str = "c1", **more: Any) -> TaskMessage:
        answer = self.committed(records=(new_record(cid, **more),), publish=(publication(cid),))
        return self.message(cid, published=answer.now)

    def message(self, cid: str = "c1", *, attempt: int = 1, published: int = 0) -> TaskMessage:
        limits = tuple(self.place(cid).limits)
        return TaskMessage(call=cid, session=self.sid, queue=QUEUE, attempt=attempt, published=published, limits=limits)

    def running(self, cid: str = "c1", *, token: str = "a1", holder: Holder = HOLDER, **more: Any) -> Claimed:
        message = self.queued(cid, **more)
        self.run(workers.beat(holder.worker, {"host": "h"}))
        claimed = self.run(attempts.claim(message, token, holder))
        assert isinstance(claimed, Claimed)
        return claimed

    def ended(self, outcome: Outcome = DONE, cid: str = "c1", **more: Any) -> Claimed:
        claimed = self.running(cid, **more)
        assert self.run(attempts.finish(claimed, HOLDER, QUEUE, outcome)).outcome == "ok"
        return claimed

    def born_deferred(self, cid: str = "c1", kind: Kind = "policy", **more: Any) -> None:
        """A call that its disposition, or the question that it is, lets wait for somebody outside at once."""
        fields = {"state": "deferred", **deferral_fields(Deferral(kind=kind), LONGEST_WAIT)}
        self.waiting(cid, **fields | more)

    def deferred(self, kind: Kind = "hook", cid: str = "c1", **more: Any) -> Claimed:
        """A call that waits for somebody outside since it ran, or since a hook before it was asked."""
        claimed = self.running(cid, **more)
        assert self.run(deferring(claimed, kind)).outcome == "ok"
        return claimed

    def place(self, cid: str = "c1", *, worker: str | None = None) -> Place:
        kept = cast("list[str | None]", self.store.hmget(keys.call(cid), list(Place.FIELDS)))
        found = Place.of(cid, kept) or Place(cid, self.sid, "", "", "")
        return found if worker is None else replace(found, worker=worker)

    def state(self, cid: str = "c1") -> str:
        return cast("str | None", self.store.hget(keys.call(cid), "state")) or "missing"

    def fields(self, cid: str = "c1") -> dict[str, str]:
        return cast("dict[str, str]", self.store.hgetall(keys.call(cid)))

    def long_ago(self, cid: str = "c1") -> None:
        """As if the call's time in its state had passed."""
        for name in ("queued_at", "deadline", "deferred_at"):
            if self.store.hexists(keys.call(cid), name):
                self.store.hset(keys.call(cid), name, "1")
        self.store.zadd(keys.WATCH, {cid: 1}, xx=True)

    def ends(self, cid: str = "c1") -> list[str]:
        """The kinds of the events that say that the call ended."""
        found: list[str] = []
        for _, event in cast("list[tuple[str, dict[str, str]]]", self.store.xrange(keys.events(self.sid))):
            state = event["kind"].removeprefix("tool_call.")
            if event.get("tool_call_id") == cid and state in set(CallState) and CallState(state).is_final:
                found.append(state)
        return found

    def told(self, kind: str) -> int:
        """How many events of this kind there are."""
        events = cast("list[tuple[str, dict[str, str]]]", self.store.xrange(keys.events(self.sid)))
        return sum(event["kind"] == kind for _, event in events)

    def completion_letters(self, cid: str = "c1") -> list[dict[str, str]]:
        return [letter for letter in self.letters() if letter["kind"] == "toolCallFinished" and letter["call"] == cid]

    def traces(self, cid: str = "c1", worker: str = HOLDER.worker) -> list[str]:
        """The indexes in which a call stands."""
        held: Mapping[str, bool] = {
            "queued": self.store.zscore(keys.queued(QUEUE), cid) is not None,
            "watch": self.store.zscore(keys.WATCH, cid) is not None,
            "worker_calls": bool(self.store.hexists(keys.worker_calls(worker), cid)),
            "wishes": bool(self.store.hexists(keys.wishes(worker), cid)),
        }
        return [name for name, stands in held.items() if stands]


def everything(store: redis.Redis) -> dict[str, object]:
    """All that the store holds, with its times made equal: two runs of a script must leave the same."""
    return {key: _timeless(_content(store, key)) for key in sorted(cast("list[str]", store.keys("*")))}


def _content(store: redis.Redis, key: str) -> object:
    match cast("str", store.type(key)):
        case "hash":
            return sorted(cast("dict[str, str]", store.hgetall(key)).items())
        case "list":
            return store.lrange(key, 0, -1)
        case "set":
            return sorted(cast("set[str]", store.smembers(key)))
        case "zset":
            return [
                (member, f"{score:.0f}") for member, score in cast("Any", store.zrange(key, 0, -1, withscores=True))
            ]
        case "stream":
            return [sorted(fields.items()) for _, fields in cast("Any", store.xrange(key))]
        case _:
            return store.get(key)


def _timeless(value: object) -> object:
    if isinstance(value, str):
        return _TIMES.sub("T", value)
    if isinstance(value, list | tuple):
        return [_timeless(one) for one in cast("Sequence[object]", value)]
    return value


def cancelling(place: Place, **more: Any) -> Invocation[calls.CancelAnswer]:
    plain: dict[str, Any] = {"by": "user", "reason": "enough"}
    return calls.cancel(place, **plain | more)


def deferring(claimed: Claimed, kind: Kind = "hook", *, holder: Holder = HOLDER, **more: Any) -> Invocation[Deferred]:
    hook = "command ask" if kind == "hook" else ""
    why = Deferral.model_validate({"kind": kind, "hook": hook, **more})
    return defer_script(claimed, holder, QUEUE, why, LONGEST_WAIT)
