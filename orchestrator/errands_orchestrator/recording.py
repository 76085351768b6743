"""What is recorded and tracked of a call: its policy, whether somebody outside is waited for, how it is attached."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

from errands_config.wire import CallPolicy, CallState, Defer, Deferral, ToolOffer
from errands_orchestrator.brief import Brief
from errands_orchestrator.capabilities.offers import CapabilityOffer
from errands_orchestrator.made_call import MadeCall
from errands_orchestrator.session import NewCall, TrackedCall
from errands_orchestrator.texts import OUTSIDE, end_text


def record_of(brief: Brief, made: MadeCall, turn: int) -> NewCall:
    """The record of a call as it is made. A refused call is born final."""
    policy = policy_of(brief, made)
    own_queue = made.offer.queue if isinstance(made.offer, ToolOffer) else "default"
    kind = "question" if isinstance(made.offer, CapabilityOffer) else "policy"
    return NewCall(
        id=made.id,
        tool=made.shown.name,
        arguments=made.arguments,
        provider_id=made.shown.id,
        turn=turn,
        position=made.position,
        policy=policy,
        queue=policy.queue or own_queue,
        outcome=made.end,
        deferral=_deferral(policy.defer, kind) if policy.defer and not made.end else None,
        handle="" if made.end else made.ours.handle,
    )


def policy_of(brief: Brief, made: MadeCall) -> CallPolicy:
    """How the call runs. No policy applies to a question: somebody outside answers it while the model goes on."""
    if isinstance(made.offer, CapabilityOffer):
        seconds = made.value.get("timeout_seconds") if isinstance(made.value, dict) else None
        terms = Defer(expires_seconds=seconds if isinstance(seconds, int | float) else None, attached=False)
        queue_seconds = brief.agent.queue_timeout_seconds
        return CallPolicy(disposition="defer", timeout_seconds=1, queue_timeout_seconds=queue_seconds, defer=terms)
    policy = brief.policy.resolve(made.shown.name, made.value)
    return with_own(policy, made.offer) if made.offer else policy


def _deferral(terms: Defer, kind: Literal["policy", "question"]) -> Deferral:
    return Deferral(kind=kind, reason=terms.reason, expires_seconds=terms.expires_seconds)


def with_own(policy: CallPolicy, offer: ToolOffer) -> CallPolicy:
    """The policy of a call with what its tool says of itself: the shorter limit, reruns if the policy has none."""
    own = {
        "timeout_seconds": min(policy.timeout_seconds, offer.timeout_seconds or math.inf),
        "rerun_times": policy.rerun_times or offer.rerun_times,
        "cancellable": policy.cancellable and offer.cancellable,
    }
    new = {name: value for name, value in own.items() if value != getattr(policy, name)}
    return policy.model_copy(update=new) if new else policy


def tracked(record: NewCall, now: int, max_bytes: int) -> TrackedCall:
    """What the session keeps of it."""
    call = TrackedCall(
        record.id, record.provider_id, record.tool, record.turn, record.position, attach="forever", handle=record.handle
    )
    if record.policy.disposition == "runAsync":
        seconds = record.policy.attach_seconds
        call = replace(call, attach="strategy")
        if seconds is not None:
            call = replace(call, attach="deadline", attach_until=now + math.ceil(seconds * 1000))
    if record.deferral:
        call = deferred(record, call)
    if record.outcome:
        call = replace(call, state=record.outcome.state, text=end_text(record.outcome, max_bytes))
    return call


def deferred(record: NewCall, call: TrackedCall) -> TrackedCall:
    """The call as one that waits for somebody outside."""
    attached = record.policy.defer is None or record.policy.defer.attached
    return replace(call, state=CallState.DEFERRED, detached=call.detached or ("" if attached else OUTSIDE))
