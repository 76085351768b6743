"""Registering the calls of an answer: ids, arguments, policy, records, and which of them are published."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Literal

from pydantic import JsonValue

from errands_config.text import clean
from errands_config.wire import CallPolicy, CallState, Defer, Deferral, Outcome, ToolOffer
from errands_orchestrator.arguments import Arguments, read_arguments
from errands_orchestrator.brief import Brief
from errands_orchestrator.capabilities.offers import ASK_USER, CapabilityOffer, capability_offers
from errands_orchestrator.models.model import Finish, Reply
from errands_orchestrator.notices import buried
from errands_orchestrator.session import AssistantEntry, CapabilityCall, NewCall, Session, ShownCall, TrackedCall
from errands_orchestrator.texts import CUT_OFF, OUTSIDE, end_text, invalid_arguments, unknown_tool

RECORDS_A_STEP = 100
"""One commit writes no more, so that none blocks the store."""

_LONGEST_ID = 256
_FOREIGN_IN_NAME = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True)
class _Made:
    """A call of the answer, read."""

    id: str
    shown: ShownCall
    position: int
    offer: ToolOffer | CapabilityOffer | None
    value: JsonValue
    """The arguments; None if they are no JSON object."""
    refusal: Outcome | None

    @property
    def is_question_about_calls(self) -> bool:
        """Whether it is answered within the turn and leaves no record; a question to the user does."""
        return isinstance(self.offer, CapabilityOffer) and self.offer.name != ASK_USER


def registered(
    brief: Brief, session: Session, reply: Reply, ids: Sequence[str], now: int
) -> tuple[Session, AssistantEntry]:
    """Take an answer in: its entry of the log, and its calls as tracked, with what is to be recorded of them.

    `ids` are fresh ids of ours, one for each call. A refused call ends here; its record is born final.
    """
    made = _read(brief, reply, ids)
    tools = [call for call in made if not call.is_question_about_calls]
    turn = session.turn + 1
    records = tuple(_record(brief, call, turn) for call in tools)
    max_bytes = brief.agent.delivery.max_result_bytes
    taken = replace(
        session,
        turn=turn,
        attached_at=now,
        calls=(*(buried(session.calls) if made else session.calls), *(_tracked(it, now, max_bytes) for it in records)),
        asked=tuple(_asked(call, max_bytes) for call in made if call.is_question_about_calls),
        unrecorded=records,
    )
    return taken, AssistantEntry(clean(reply.text).text, tuple(call.shown for call in made))


def unique_ids(sent: Sequence[str]) -> list[str]:
    """Ids as they stand in the history: the provider's own, but for empty ones and for equal ones after the first."""
    plain = ["".join(filter(str.isprintable, own)).strip()[:_LONGEST_ID] for own in sent]
    seen, taken = set[str](), set(plain)
    numbers: dict[str, Iterator[int]] = {}
    unique: list[str] = []
    for own in plain:
        shown = own
        if not own or own in seen:
            series = numbers.setdefault(own, count(2 if own else 1))
            shown = next(name for number in series if (name := f"{own or 'call'}~{number}") not in taken)
        seen.add(own)
        taken.add(shown)
        unique.append(shown)
    return unique


def _read(brief: Brief, reply: Reply, ids: Sequence[str]) -> list[_Made]:
    offers = {offer.name: offer for offer in capability_offers(brief.agent.capabilities)}
    shown_ids = unique_ids([call.provider_id for call in reply.calls])
    made: list[_Made] = []
    for position, (ours, shown_id, call) in enumerate(zip(ids, shown_ids, reply.calls, strict=True)):
        offer = offers.get(call.name) or brief.tools.by_name.get(call.name)
        arguments = read_arguments(call.arguments, offer.parameters if offer else None)
        shown = ShownCall(shown_id, _FOREIGN_IN_NAME.sub("_", call.name)[:64] or "unnamed", arguments.text)
        refusal = _refusal(call.name, is_offered=offer is not None, arguments=arguments, finish=reply.finish)
        made.append(_Made(ours, shown, position, offer, arguments.value, refusal))
    return made


def _refusal(name: str, *, is_offered: bool, arguments: Arguments, finish: Finish) -> Outcome | None:
    if finish == "length":
        return invalid_arguments(CUT_OFF)
    if not is_offered:
        return unknown_tool(name)
    return invalid_arguments(arguments.fault) if arguments.fault else None


def _asked(made: _Made, max_bytes: int) -> CapabilityCall:
    answer = end_text(made.refusal, max_bytes) if made.refusal else None
    return CapabilityCall(made.id, made.shown.id, made.shown.name, made.position, made.shown.arguments, answer=answer)


def _record(brief: Brief, made: _Made, turn: int) -> NewCall:
    policy = _policy(brief, made)
    own_queue = made.offer.queue if isinstance(made.offer, ToolOffer) else "default"
    kind = "question" if isinstance(made.offer, CapabilityOffer) else "policy"
    return NewCall(
        id=made.id,
        tool=made.shown.name,
        arguments=made.shown.arguments,
        provider_id=made.shown.id,
        turn=turn,
        position=made.position,
        policy=policy,
        queue=policy.queue or own_queue,
        outcome=made.refusal,
        deferral=_deferral(policy.defer, kind) if policy.defer and not made.refusal else None,
    )


def _policy(brief: Brief, made: _Made) -> CallPolicy:
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


def _tracked(record: NewCall, now: int, max_bytes: int) -> TrackedCall:
    call = TrackedCall(record.id, record.provider_id, record.tool, record.turn, record.position, attach="forever")
    if record.policy.disposition == "runAsync":
        seconds = record.policy.attach_seconds
        call = replace(call, attach="strategy")
        if seconds is not None:
            call = replace(call, attach="deadline", attach_until=now + math.ceil(seconds * 1000))
    if record.deferral:
        attached = record.policy.defer is None or record.policy.defer.attached
        call = replace(call, state=CallState.DEFERRED, detached="" if attached else OUTSIDE)
    if record.outcome:
        call = replace(call, state=record.outcome.state, text=end_text(record.outcome, max_bytes))
    return call


def recorded(session: Session) -> tuple[Session, tuple[NewCall, ...]]:
    """The records that the next commit writes, and the session without them."""
    return replace(session, unrecorded=session.unrecorded[RECORDS_A_STEP:]), session.unrecorded[:RECORDS_A_STEP]


def published(session: Session, max_concurrency: int) -> tuple[Session, tuple[str, ...]]:
    """The waiting calls whose turn it is, and the session with them published.

    Of a turn's runSync calls one is open at a time, in call order; runAsync calls take the free slots, oldest first.
    A deferred call holds nothing of either.
    """
    unrecorded = {record.id for record in session.unrecorded}
    open_calls = [call for call in session.calls if not (call.is_final or call.id in unrecorded)]
    first: dict[int, TrackedCall] = {}
    for call in open_calls:
        if call.attach == "forever" and not call.is_deferred:
            first.setdefault(call.turn, call)
    held = sum(call.attach != "forever" and call.state is CallState.QUEUED for call in session.calls)
    background = [call for call in open_calls if call.attach != "forever" and _may_be_published(call)]
    chosen = {call.id for call in first.values() if _may_be_published(call)}
    chosen |= {call.id for call in background[: max(0, max_concurrency - held)]}
    calls = tuple(replace(call, state=CallState.QUEUED) if call.id in chosen else call for call in session.calls)
    return replace(session, calls=calls), tuple(call.id for call in calls if call.id in chosen)


def _may_be_published(call: TrackedCall) -> bool:
    return call.state is CallState.WAITING and not call.stopping
