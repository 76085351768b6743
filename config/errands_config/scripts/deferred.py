"""The transitions of deferred calls: a worker defers one, and somebody outside ends it or has it run after all."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from errands_config import keys
from errands_config.arguments_digest import arguments_digest
from errands_config.scripts.attempts import ENDING, MAIL_INLINE_BYTES, Holder, ending_keys, limit_keys
from errands_config.scripts.calls import Place
from errands_config.scripts.letters import outcome_fields
from errands_config.scripts.script import Invocation, Scalar, Script
from errands_config.wire import CallPolicy, Claimed, Deferral, Outcome

_DEFER = Script(
    "defer",
    keys=ENDING,
    args=("cid", "sid", "token", "deferral", "inline_bytes", "limits"),
    shared=("final", "events", "record", "head", "wake", "limits", "outcome", "ending", "deferring"),
)
_COMPLETE = Script(
    "complete",
    keys=ENDING,
    args=("cid", "sid", "nonce", "mark", "outcome", "late", "inline_bytes", "limits"),
    shared=("final", "events", "record", "head", "wake", "limits", "outcome", "ending", "answering"),
)
_APPROVE = Script(
    "approve",
    keys=(*ENDING, "queues"),
    args=(
        "cid",
        "sid",
        "nonce",
        "mark",
        "digest",
        "shown",
        "arguments",
        "policy",
        "label",
        "queue",
        "limit_names",
        "limits",
    ),
    shared=("final", "events", "record", "head", "wake", "limits", "requeue", "answering"),
)


def deferral_fields(deferral: Deferral, longest_seconds: float) -> dict[str, str]:
    """A deferral as a new record keeps it; `longest_seconds` is what the settings allow."""
    return {
        "defer_kind": deferral.kind, "defer_reason": deferral.reason, "defer_hook": deferral.hook,
        "expires_ms": str(_expires_ms(deferral, longest_seconds)),
    }  # fmt: skip


def _expires_ms(deferral: Deferral, longest_seconds: float) -> int:
    wanted = longest_seconds if deferral.expires_seconds is None else deferral.expires_seconds
    return round(min(wanted, longest_seconds) * 1000)


@dataclass(frozen=True, slots=True)
class Deferred:
    """What became of a deferral. `late`: the call has ended; `lost`: the attempt holds it no more."""

    outcome: Literal["ok", "late", "lost", "unknown"]
    detail: str = ""
    """The number of this deferral, or the state that was met."""


def defer(
    call: Claimed, holder: Holder, queue: str, deferral: Deferral, longest_seconds: float
) -> Invocation[Deferred]:
    """Let a running call wait for somebody outside; its slots are free from then on."""
    limits = tuple(limit.name for limit in call.policy.limits)
    fields = {
        "kind": deferral.kind, "reason": deferral.reason, "hook": deferral.hook, "arguments": deferral.arguments,
        "expires_ms": _expires_ms(deferral, longest_seconds),
    }  # fmt: skip
    named = ending_keys(call.call, call.session, queue, holder.worker)
    args: dict[str, Scalar] = {
        "cid": call.call, "sid": call.session, "token": call.token, "deferral": orjson.dumps(fields).decode(),
        "inline_bytes": MAIL_INLINE_BYTES, "limits": " ".join(limits),
    }  # fmt: skip
    return _DEFER.use(named, args, lambda answer: Deferred(*answer), limit_keys(limits))


@dataclass(frozen=True, slots=True)
class OutsideAnswer:
    """What an answer from outside met.

    `again`: the same answer was given before; `conflict`: another one was; `mailed`: a late answer to a question, which
    the model gets as mail; `gone`: the call was cancelled, or its time was over; `stale`: the token is of an earlier
    deferral; `unfit`: the call was never deferred, or not for leave to run.
    """

    outcome: Literal["ok", "again", "conflict", "mailed", "gone", "stale", "unfit", "unknown"]
    state: str
    """Of the call now."""


def complete(
    place: Place, nonce: int, outcome: Outcome, *, late: str = "", dismissed: bool = False
) -> Invocation[OutsideAnswer]:
    """End a deferred call from outside. `late`: what the model is told if this answers a question that ended already.

    `dismissed`: the question was put aside, so that a later answer still counts.
    """
    text = orjson.dumps(outcome_fields(outcome)).decode()
    mark = ("dismissed:" if dismissed else "") + hashlib.sha256(text.encode()).hexdigest()
    args: dict[str, Scalar] = {
        "cid": place.cid, "sid": place.sid, "nonce": nonce, "mark": mark, "outcome": text, "late": late,
        "inline_bytes": MAIL_INLINE_BYTES, "limits": " ".join(place.limits),
    }  # fmt: skip
    named = ending_keys(place.cid, place.sid, place.queue, place.worker)
    return _COMPLETE.use(named, args, _answer, limit_keys(place.limits))


@dataclass(frozen=True, slots=True)
class Edited:
    """New arguments of a call that is approved, and how it runs with them."""

    arguments: str
    policy: CallPolicy
    queue: str


def approve(place: Place, nonce: int, shown: str, edited: Edited | None = None) -> Invocation[OutsideAnswer]:
    """Have a deferred call run after all. `shown`: the arguments that leave is given for, as JSON text."""
    digest = arguments_digest(edited.arguments if edited else shown)
    args: dict[str, Scalar] = {
        "cid": place.cid, "sid": place.sid, "nonce": nonce, "mark": f"approved:{digest}", "digest": digest,
        "shown": shown, "limits": "", **_edits(edited),
    }  # fmt: skip
    queue = edited.queue if edited else place.queue
    named = ending_keys(place.cid, place.sid, queue, place.worker) | {"queues": keys.QUEUES}
    return _APPROVE.use(named, args, _answer)


def _edits(edited: Edited | None) -> dict[str, Scalar]:
    """The fields of the record that an edit changes; all empty where there is none."""
    if edited is None:
        return dict.fromkeys(("arguments", "policy", "label", "queue", "limit_names"), "")
    policy = edited.policy
    return {
        "arguments": edited.arguments, "policy": policy.model_dump_json(exclude_defaults=True), "label": policy.label,
        "queue": edited.queue, "limit_names": " ".join(limit.name for limit in policy.limits),
    }  # fmt: skip


def _answer(answer: Any) -> OutsideAnswer:
    return OutsideAnswer(answer[0], answer[1])
