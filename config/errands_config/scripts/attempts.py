"""The transitions that a worker asks for: claim, progress, notify, finish. Each names the attempt by its token."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from secrets import token_hex
from typing import Any, Literal

import orjson
from pydantic import TypeAdapter

from errands_config import keys
from errands_config.scripts.letters import outcome_fields
from errands_config.scripts.script import Invocation, Scalar, Script
from errands_config.wire import Approval, CallPolicy, Claimed, Outcome, TaskMessage

MAIL_INLINE_BYTES = 16_384
"""A larger result is not copied into its completion mail; it is read from the record."""
DEADLINE_SLACK_MS = 5_000
"""How long after its deadline the sweeper asks a running call to end, should its own supervisor not have done so."""

ENDING = (
    "call",
    "session",
    "mail",
    "due",
    "bell",
    "events",
    "all_events",
    "watch",
    "queued",
    "worker_calls",
    "wishes",
    "sweep",
    "output",
)
"""The keys of every script that ends a call, in the order of `ending_keys`; `limit_keys` follow."""

_APPROVED = TypeAdapter(tuple[Approval, ...])
_CLAIM = Script(
    "claim",
    keys=("call", "queued", "marks", "workers", "worker_calls", "watch", "progress", "events", "all_events", "sweep"),
    args=("cid", "attempt", "token", "worker", "pid", "published", "slack_ms", "limits"),
    shared=("events", "record", "limits"),
)
_PROGRESS = Script(
    "progress",
    keys=("call", "progress", "events", "all_events"),
    args=("cid", "token", "mark", "payload"),
    shared=("events", "record", "progressing"),
)
_NOTIFY = Script(
    "notify",
    keys=("call", "progress", "session", "mail", "due", "bell", "events", "all_events"),
    args=("cid", "sid", "token", "number", "payload", "text", "bound", "mail_bound"),
    shared=("events", "record", "progressing", "mailbox", "head", "wake"),
)
_OUTPUT = Script("output", keys=("call", "output"), args=("token", "at", "text", "is_full"))
_FINISH = Script(
    "finish",
    keys=ENDING,
    args=("cid", "sid", "token", "outcome", "inline_bytes", "limits"),
    shared=("final", "events", "record", "head", "wake", "limits", "outcome", "ending"),
)


@dataclass(frozen=True, slots=True)
class Holder:
    """Who runs an attempt: the worker incarnation and the pool process in it."""

    worker: str
    pid: int


@dataclass(frozen=True, slots=True)
class ClaimRefused:
    """Why a message is void.

    `lapsed`: the worker was given up; `limited`: the call waits for a shared limit; `refused`: its state forbids it.
    """

    why: Literal["lapsed", "unknown", "limited", "refused"]
    state: str = ""


def claim(message: TaskMessage, token: str, holder: Holder) -> Invocation[Claimed | ClaimRefused]:
    """Take a queued call for one attempt. The same token again gets the same answer."""
    cid, sid = message.call, message.session
    named = {
        "call": keys.call(cid), "queued": keys.queued(message.queue), "marks": keys.queue_marks(message.queue),
        "workers": keys.WORKERS, "worker_calls": keys.worker_calls(holder.worker), "watch": keys.WATCH,
        "progress": keys.progress(cid), "events": keys.events(sid), "all_events": keys.EVENTS, "sweep": keys.SWEEP,
    }  # fmt: skip
    args: dict[str, Scalar] = {
        "cid": cid, "attempt": message.attempt, "token": token, "worker": holder.worker, "pid": holder.pid,
        "published": message.published, "slack_ms": DEADLINE_SLACK_MS, "limits": " ".join(message.limits),
    }  # fmt: skip

    def parse(answer: Any) -> Claimed | ClaimRefused:
        if answer[0] != "ok":
            return ClaimRefused(answer[0], answer[1] if len(answer) > 1 else "")
        session, conversation, agent, tool, provider_id, arguments, policy, attempt, deadline, turn = answer[1:11]
        approved = answer[11]
        return Claimed(
            call=cid, session=session, conversation=conversation, agent=agent, tool=tool, provider_id=provider_id,
            arguments=arguments, policy=CallPolicy.model_validate_json(policy), attempt=int(attempt), token=token,
            deadline_ms=int(deadline), turn=int(turn), approved=_APPROVED.validate_json(approved) if approved else (),
        )  # fmt: skip

    return _CLAIM.use(named, args, parse, limit_keys(message.limits))


Written = Literal["ok", "kept", "lost"]


def progress(call: Claimed, payload: str) -> Invocation[Written]:
    """Keep one progress entry (JSON text), once however often this is run. `lost`: the attempt holds it no more."""
    named = {
        "call": keys.call(call.call), "progress": keys.progress(call.call), "events": keys.events(call.session),
        "all_events": keys.EVENTS,
    }  # fmt: skip
    args: dict[str, Scalar] = {"cid": call.call, "token": call.token, "mark": token_hex(8), "payload": payload}
    return _PROGRESS.use(named, args, lambda answer: answer)


def output(call: Claimed, at: int, text: str, *, is_full: bool = False) -> Invocation[int | None]:
    """Add whole lines to what the attempt has printed: bytes that stand there then, None if it holds the call no more.

    `at`: bytes that stood before this text; where fewer stand, nothing is added. `is_full`: no more will come.
    """
    named = {"call": keys.call(call.call), "output": keys.output(call.call)}
    args: dict[str, Scalar] = {"token": call.token, "at": at, "text": text, "is_full": "1" if is_full else ""}
    return _OUTPUT.use(named, args, lambda answer: None if answer < 0 else answer)


def notify(call: Claimed, number: int, payload: str, text: str) -> Invocation[Written]:
    """Keep one progress entry and mail its text, while the call has mails left. `kept`: progress only.

    `number` counts this attempt's notifies from 1; the same number again is seen as a repeat.
    """
    sid = call.session
    named = {
        "call": keys.call(call.call), "progress": keys.progress(call.call), "session": keys.session(sid),
        "mail": keys.mail(sid), "due": keys.DUE, "bell": keys.BELL, "events": keys.events(sid),
        "all_events": keys.EVENTS,
    }  # fmt: skip
    args: dict[str, Scalar] = {
        "cid": call.call, "sid": sid, "token": call.token, "number": number, "payload": payload, "text": text,
        "bound": keys.NOTIFY_BOUND, "mail_bound": keys.MAIL_BOUND,
    }  # fmt: skip
    return _NOTIFY.use(named, args, lambda answer: answer)


@dataclass(frozen=True, slots=True)
class Finished:
    """What became of a finish. `late`: the call had ended already; `lost`: the attempt holds it no more."""

    outcome: Literal["ok", "late", "lost", "unknown"]
    detail: str = ""
    """The end's place in the session's events, or the state that was met."""


def finish(call: Claimed, holder: Holder, queue: str, outcome: Outcome) -> Invocation[Finished]:
    """Enter the call's final state. First writer wins."""
    named = ending_keys(call.call, call.session, queue, holder.worker)
    limits = tuple(limit.name for limit in call.policy.limits)
    args: dict[str, Scalar] = {
        "cid": call.call, "sid": call.session, "token": call.token,
        "outcome": orjson.dumps(outcome_fields(outcome)).decode(), "inline_bytes": MAIL_INLINE_BYTES,
        "limits": " ".join(limits),
    }  # fmt: skip
    return _FINISH.use(named, args, lambda answer: Finished(*answer), limit_keys(limits))


def ending_keys(cid: str, sid: str, queue: str, worker: str) -> dict[str, str]:
    """The keys that the end of a call touches. Without a queue or a worker the name is one that never exists."""
    return {
        "call": keys.call(cid), "session": keys.session(sid), "mail": keys.mail(sid), "due": keys.DUE,
        "bell": keys.BELL, "events": keys.events(sid), "all_events": keys.EVENTS, "watch": keys.WATCH,
        "queued": keys.queued(queue), "worker_calls": keys.worker_calls(worker), "wishes": keys.wishes(worker),
        "sweep": keys.SWEEP, "output": keys.output(cid),
    }  # fmt: skip


def limit_keys(names: Iterable[str]) -> tuple[str, ...]:
    """The keys of shared limits, as scripts read them behind their named keys."""
    return tuple(key for name in names for key in keys.limit(name))
