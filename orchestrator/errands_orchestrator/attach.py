"""The wait of the newest turn: what it still waits for, when it lets go, and what it hands back to the model."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from errands_config.agent import YieldOnTimeout
from errands_config.wire import CallState, Outcome
from errands_orchestrator.brief import Brief
from errands_orchestrator.capabilities.offers import WAIT
from errands_orchestrator.decisions import Answer, Look
from errands_orchestrator.dependencies import held_from_outside
from errands_orchestrator.late_outputs import late_outputs, result_message
from errands_orchestrator.session import CapabilityCall, Session, ToolMessage, ToolsEntry, TrackedCall
from errands_orchestrator.texts import (
    INTERRUPTED,
    OUTSIDE,
    end_text,
    interrupted_answer,
    placeholder,
    seconds,
)


def settled(brief: Brief, session: Session, now: int) -> Session:
    """Let go of calls, and end the waits of capabilities, where somebody spoke, a call notified or time is up."""
    interrupt = brief.is_asynchronous and any(item.interrupt for item in session.inbox)
    person = any(item.kind == "user" for item in session.inbox)
    woken_by = next((item.kind for item in session.inbox if item.kind != "mail" or item.interrupt), "")
    attached = {call.id for call in session.attached}
    outside = held_from_outside(session.calls, let_go=True)

    def released(call: TrackedCall) -> TrackedCall:
        if call.id not in attached or not _holds(call):
            return call
        if interrupt:
            return replace(call, detached=INTERRUPTED)
        if call.id in outside:
            return replace(call, detached=OUTSIDE)
        holds_fast = call.attach == "forever" and not call.is_deferred
        return call if holds_fast else _released(call, session.attached_at, person, now)

    asked = (replace(it, woken_by=woken_by) if _waits(it, session, now) else it for it in session.asked)
    return replace(session, calls=tuple(map(released, session.calls)), asked=tuple(asked))


def _released(call: TrackedCall, since: int, person: bool, now: int) -> TrackedCall:
    if person:
        return replace(call, detached=INTERRUPTED)
    if call.attach == "deadline" and call.attach_until <= now:
        return replace(call, detached=f"still running after {seconds((call.attach_until - since) / 1000)}s")
    return call


def _holds(call: TrackedCall) -> bool:
    return not (call.is_final or call.detached)


def _waits(asked: CapabilityCall, session: Session, now: int) -> bool:
    """Whether a capability keeps the step from handing back."""
    if not asked.begun or asked.answer is not None or asked.wait_until is None or asked.woken_by:
        return False
    final = {call.id for call in session.calls if call.is_final}
    enough = any if asked.any_of else all
    return asked.wait_until > now and not (asked.targets and enough(target in final for target in asked.targets))


def is_over(brief: Brief, session: Session, now: int) -> bool:
    """Whether the step may hand back. `session` is settled, and its capabilities are begun."""
    if session.handing_back:
        return True
    calls = session.attached
    if any(_holds(call) for call in calls if call.attach != "strategy"):
        return False
    return _strategy_holds(brief, session, now) and not any(_waits(it, session, now) for it in session.asked)


def _strategy_holds(brief: Brief, session: Session, now: int) -> bool:
    group = [call for call in session.attached if call.attach == "strategy"]
    strategy = brief.agent.async_yield_strategy
    if not any(_holds(call) for call in group):
        return True
    if strategy == "yieldWhenAllDone":
        return False
    earlier = (call for call in session.calls if call.turn < session.turn)
    if any(call.is_final for call in group) or has_news(earlier):
        return True
    return isinstance(strategy, YieldOnTimeout) and session.attached_at + strategy.milliseconds <= now


def has_news(calls: Iterable[TrackedCall]) -> bool:
    """Whether one of these has ended and the model does not know."""
    return any(call.is_final and not call.known for call in calls)


def timer(brief: Brief, session: Session, now: int) -> int | None:
    """The next moment (store time, ms) at which the wait may end by itself. `session` is settled and not over."""
    held = [call for call in session.attached if _holds(call)]
    moments = [call.attach_until for call in held if call.attach == "deadline"]
    moments += [it.wait_until for it in session.asked if it.wait_until is not None and _waits(it, session, now)]
    strategy = brief.agent.async_yield_strategy
    if isinstance(strategy, YieldOnTimeout) and any(call.attach == "strategy" for call in held):
        moments.append(session.attached_at + strategy.milliseconds)
    return min((moment for moment in moments if moment > now), default=None)


def missing(session: Session) -> tuple[Answer | Look, ...]:
    """What has to be brought before the turn can be handed back: answers, and the states that placeholders name."""
    answers = [Answer(it) for it in session.asked if it.answer is None]
    looked = {call for call, _ in session.looked}
    unseen = tuple(call.id for call in session.attached if _gets_placeholder(call) and call.id not in looked)
    return (*answers, Look(unseen)) if unseen else tuple(answers)


def interrupted(session: Session, max_bytes: int) -> Session:
    """End the wait at once: calls that are not recorded are cancelled, open ones let go, questions left unanswered."""
    never = {record.id for record in session.unrecorded}
    cancelled = Outcome(state=CallState.CANCELLED)
    text = end_text(cancelled, max_bytes)
    attached = {call.id for call in session.attached if not call.is_final}

    def ended(call: TrackedCall) -> TrackedCall:
        if call.id not in attached:
            return call
        if call.id in never:
            return replace(call, state=cancelled.state, text=text)
        return replace(call, detached=INTERRUPTED)

    answered = (replace(it, answer=it.answer or interrupted_answer("user")) for it in session.asked)
    return replace(session, calls=tuple(map(ended, session.calls)), asked=tuple(answered), unrecorded=())


def handed_back(session: Session, capabilities: Collection[str]) -> tuple[Session, ToolsEntry]:
    """The tool messages of the newest turn in call order, and the session that goes on tracking what is still owed.

    Where something was asked about calls, the results of asynchronous calls of earlier turns come first, because the
    answers refer to them. Where there are results of such calls, waits are answered last: behind what they waited for.
    """
    session, late = late_outputs(session) if session.asked else (session, ())
    states = dict(session.looked)
    by_position = {it.position: _answer_message(it) for it in session.asked}
    owed: list[TrackedCall] = []
    for call in session.attached:
        if call.is_final and not _never_at_once(call, session):
            message = result_message(call)
        elif call.is_async:
            owed.append(call)
            continue
        else:
            owed.append(call)
            state = states.get(call.id, call.state)
            text = placeholder(call.provider_id, state, call.detached, capabilities, call.handle)
            message = ToolMessage(call.provider_id, call.id, call.name, state, text, placeholder=True)
        by_position[call.position] = message
    earlier = tuple(call for call in session.calls if call.turn < session.turn)
    left = replace(session, calls=(*earlier, *owed), asked=(), looked=(), handing_back=False)
    in_order = [by_position[position] for position in sorted(by_position)]
    if late or any(call.is_async for call in session.attached):
        in_order.sort(key=lambda message: message.name == WAIT)
    return left, ToolsEntry((*late, *in_order))


def _gets_placeholder(call: TrackedCall) -> bool:
    return not (call.is_final or call.is_async)


def _never_at_once(call: TrackedCall, session: Session) -> bool:
    """Whether this is a call with `attachSeconds: 0`, whose placeholder never holds data. A refusal is no data."""
    return (
        not call.is_async
        and bool(call.detached)
        and call.attach == "deadline"
        and call.attach_until == session.attached_at
    )


def _answer_message(asked: CapabilityCall) -> ToolMessage:
    return ToolMessage(asked.provider_id, "", asked.name, CallState.COMPLETED, asked.answer or "")
