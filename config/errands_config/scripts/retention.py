"""The transitions that delete: of calls that are over and told, and of sessions that nobody touched for long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from errands_config import keys
from errands_config.scripts.script import Invocation, Script

_FORGET_CALLS = Script(
    "forget_calls", keys=("session", "mail", "calls", "names"), args=("version", "count"), shared=("final",)
)
_FORGET = Script(
    "forget",
    keys=("session", "log", "mail", "events", "calls", "names", "handles", "idempotency", "sessions", "due"),
    args=("sid", "version", "untouched_ms"),
)


@dataclass(frozen=True, slots=True)
class CallsForgotten:
    """How many records went. `moved`: the session went on meanwhile, or is about to, and nothing was deleted."""

    outcome: Literal["ok", "moved"]
    count: int


def forget_calls(sid: str, version: int, cids: Sequence[str]) -> Invocation[CallsForgotten]:
    """Delete the records of calls that have ended. `version` is that of the snapshot which does not track them."""
    records = tuple(key for cid in cids for key in (keys.call(cid), keys.progress(cid), keys.output(cid)))
    named = (keys.session(sid), keys.mail(sid), keys.calls(sid), keys.names(sid))
    args = (version, len(cids), *cids)
    return Invocation(_FORGET_CALLS, (*named, *records), args, lambda answer: CallsForgotten(answer[0], int(answer[1])))


def forget(sid: str, version: int, untouched_ms: int) -> Invocation[Literal["forgotten", "gone", "moved"]]:
    """Delete a session without calls that has no owner, no unread mail, and was not touched for so long."""
    named = {
        "session": keys.session(sid), "log": keys.log(sid), "mail": keys.mail(sid), "events": keys.events(sid),
        "calls": keys.calls(sid), "names": keys.names(sid), "handles": keys.handles(sid),
        "idempotency": keys.idempotency(sid), "sessions": keys.SESSIONS, "due": keys.DUE,
    }  # fmt: skip
    return _FORGET.use(named, {"sid": sid, "version": version, "untouched_ms": untouched_ms}, lambda answer: answer)
