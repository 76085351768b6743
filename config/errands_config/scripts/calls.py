"""The transitions of a call that others than its worker ask for: cancel, repeat, overdue, settle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from secrets import token_hex
from typing import Any, Literal

from errands_config import keys
from errands_config.scripts.attempts import DEADLINE_SLACK_MS, ENDING, MAIL_INLINE_BYTES, ending_keys, limit_keys
from errands_config.scripts.script import Invocation, Scalar, Script
from errands_config.wire import Actor

MOST_LOST = 5
"""How often a call may lose its process while it runs: one that does so again is what kills its workers."""

_ENDS = ("final", "events", "record", "head", "wake", "limits", "outcome", "ending")
_CANCEL = Script(
    "cancel",
    keys=ENDING,
    args=("cid", "sid", "worker_seen", "queue_seen", "by", "reason", "asker", "inline_bytes", "limits"),
    shared=_ENDS,
)
_OVERDUE = Script(
    "overdue",
    keys=(*ENDING, "queues"),
    args=("cid", "sid", "worker_seen", "queue_seen", "offered", "slack_ms", "again_ms", "inline_bytes", "limits"),
    shared=_ENDS,
)
_SETTLE_CALL = Script(
    "settle_call",
    keys=(*ENDING, "queues"),
    args=("cid", "sid", "worker", "pid", "reason", "confirmed", "counts", "most_lost", "inline_bytes", "limits"),
    shared=(*_ENDS, "requeue"),
)
_REPEAT = Script(
    "repeat", keys=("call", "queued", "marks", "list"), args=("cid", "patience_ms", "elsewhere"), shared=("record",)
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a call stood when its record was read; a script that ends it answers `moved` when it stands elsewhere."""

    cid: str
    sid: str
    queue: str
    worker: str
    tool: str
    limits: tuple[str, ...] = ()

    FIELDS = ("session", "queue", "worker", "tool", "limits")

    @classmethod
    def of(cls, cid: str, fields: Sequence[str | None]) -> Place | None:
        """From an HMGET of `FIELDS`; None when there is no such call."""
        sid, queue, worker, tool, limits = (field or "" for field in fields)
        return cls(cid, sid, queue, worker, tool, tuple(limits.split())) if sid else None


@dataclass(frozen=True, slots=True)
class CancelAnswer:
    """What asking for an end met.

    `cancelled`: ended now (or by the same asker before); `asked`: a running call was given the wish; `final`: it had
    ended by itself; `moved`: read its place again and repeat.
    """

    outcome: Literal["cancelled", "asked", "final", "moved", "unknown"]
    previous: str = ""
    state: str = ""
    worker: str = ""
    pid: str = ""


def cancel(place: Place, *, by: Actor, reason: str, asker: str = "") -> Invocation[CancelAnswer]:
    """Ask for the end of a call. `asker` is the asking call's id, so that a repeat is answered as the first time.

    Without one, only this very invocation run again is taken for a repeat.
    """
    args: dict[str, Scalar] = {
        "cid": place.cid, "sid": place.sid, "worker_seen": place.worker, "queue_seen": place.queue, "by": by,
        "reason": reason, "asker": asker or token_hex(16), "inline_bytes": MAIL_INLINE_BYTES,
        "limits": " ".join(place.limits),
    }  # fmt: skip
    return _CANCEL.use(_keys(place), args, lambda answer: CancelAnswer(*answer), limit_keys(place.limits))


def _keys(place: Place) -> dict[str, str]:
    return ending_keys(place.cid, place.sid, place.queue, place.worker)


@dataclass(frozen=True, slots=True)
class OverdueAnswer:
    """What became of a call whose moment passed. `asked`: its worker lives and was told to end it; `granted`: it has
    the shared limit that it waited for, and is to be published.
    """

    outcome: Literal["early", "final", "asked", "ended", "granted", "moved"]
    state: str = ""


def overdue(place: Place, *, offered: bool, again_ms: int = 5_000) -> Invocation[OverdueAnswer]:
    """End a call that nobody claimed in time; ask a running one to end. `offered`: a live worker has its tool."""
    args: dict[str, Scalar] = {
        "cid": place.cid, "sid": place.sid, "worker_seen": place.worker, "queue_seen": place.queue,
        "offered": int(offered), "slack_ms": DEADLINE_SLACK_MS, "again_ms": again_ms,
        "inline_bytes": MAIL_INLINE_BYTES, "limits": " ".join(place.limits),
    }  # fmt: skip
    named = _keys(place) | {"queues": keys.QUEUES}
    return _OVERDUE.use(named, args, lambda answer: OverdueAnswer(*answer), limit_keys(place.limits))


def settle_call(
    place: Place, worker: str, *, pid: str = "", reason: str = "", confirmed: bool = True, drained: bool = False
) -> Invocation[str]:
    """What becomes of a call whose process is gone: its state now, or an empty text when nothing was to be done.

    `queued` is a call that is started again. With a `pid` only the attempt of that pool process is meant. `confirmed`:
    whether it is certain that nothing of the call runs any more. `drained`: its worker was told to go, so that this
    loss says nothing about the call.
    """
    args: dict[str, Scalar] = {
        "cid": place.cid, "sid": place.sid, "worker": worker, "pid": pid, "reason": reason,
        "confirmed": "" if confirmed else "false", "counts": int(not drained), "most_lost": MOST_LOST,
        "inline_bytes": MAIL_INLINE_BYTES, "limits": " ".join(place.limits),
    }  # fmt: skip
    named = ending_keys(place.cid, place.sid, place.queue, worker) | {"queues": keys.QUEUES}
    return _SETTLE_CALL.use(
        named, args, lambda answer: "" if answer[0] == "no" else answer[1], limit_keys(place.limits)
    )


@dataclass(frozen=True, slots=True)
class Republish:
    """A message that has to be published (again): the `count`-th of this call, at store time `now` (ms)."""

    cid: str
    sid: str
    queue: str
    tool: str
    attempt: int
    count: int
    now: int
    timeout_seconds: float
    limits: tuple[str, ...] = ()


def repeat(cid: str, queue: str, patience_ms: int = 2_000, *, elsewhere: bool = False) -> Invocation[Republish | None]:
    """Whether a queued call's message must be published again; counts it as published now if so.

    `elsewhere`: the queue's list is not in this store, so that it looks empty says nothing.
    """
    named = {
        "call": keys.call(cid), "queued": keys.queued(queue), "marks": keys.queue_marks(queue), "list": queue,
    }  # fmt: skip

    def parse(answer: Any) -> Republish | None:
        if answer[0] != "publish":
            return None
        _, now, count, attempt, sid, tool, seconds, limits = answer
        names = tuple(limits.split())
        return Republish(cid, sid, queue, tool, int(attempt), int(count), int(now), float(seconds), names)

    return _REPEAT.use(named, {"cid": cid, "patience_ms": patience_ms, "elsewhere": int(elsewhere)}, parse)
