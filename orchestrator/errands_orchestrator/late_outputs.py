"""Results of calls that have no placeholder: each is the one message of its call, in whatever turn it comes. Pure."""

from __future__ import annotations

from dataclasses import replace

from errands_orchestrator.session import Session, ToolMessage, TrackedCall
from errands_orchestrator.texts import ALREADY_KNOWN, RUN_AGAIN_LINE


def late_outputs(session: Session) -> tuple[Session, tuple[ToolMessage, ...]]:
    """The messages of such calls of earlier turns that have ended, in the order of their ends, and the session without
    these calls."""
    attached = {call.id for call in session.attached}
    owed = [call for call in session.calls if call.is_async and call.is_final and call.id not in attached]
    owed.sort(key=lambda call: call.ended)
    told = {call.id for call in owed}
    calls = tuple(call for call in session.calls if call.id not in told)
    return replace(session, calls=calls), tuple(map(late_message, owed))


def result_message(call: TrackedCall) -> ToolMessage:
    """The message of a call that has ended: its result."""
    text = f"{RUN_AGAIN_LINE}{call.text}" if call.reran else call.text
    return ToolMessage(call.provider_id, call.id, call.name, call.state, text)


def late_message(call: TrackedCall) -> ToolMessage:
    """The message of a call of an earlier turn: its result, unless the model has had it in another way."""
    message = result_message(call)
    return replace(message, text=ALREADY_KNOWN[call.known]) if call.known else message
