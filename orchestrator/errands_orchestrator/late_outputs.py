"""Results of calls that have no placeholder: each is the one message of its call, in whatever turn it comes. Pure."""

from __future__ import annotations

from dataclasses import replace

from errands_orchestrator.room import UNBOUNDED, Room
from errands_orchestrator.session import Session, ToolMessage, TrackedCall
from errands_orchestrator.texts import ALREADY_KNOWN, RUN_AGAIN


def late_outputs(session: Session, room: Room = UNBOUNDED) -> tuple[Session, tuple[ToolMessage, ...], Room]:
    """The messages of such calls of earlier turns that have ended, in the order of their ends, as many as there is room
    for; the session without these calls, and the room that is left."""
    attached = {call.id for call in session.attached}
    owed = [call for call in session.calls if call.is_async and call.is_final and call.id not in attached]
    owed.sort(key=lambda call: call.ended)
    messages = tuple(map(_late_message, owed))
    count, left = room.taking([message.text for message in messages])
    told = {call.id for call in owed[:count]}
    calls = tuple(call for call in session.calls if call.id not in told)
    return replace(session, calls=calls), messages[:count], left


def result_message(call: TrackedCall) -> ToolMessage:
    """The message of a call that has ended: its result."""
    text = f"({RUN_AGAIN})\n{call.text}" if call.reran else call.text
    return ToolMessage(call.provider_id, call.id, call.name, call.state, text)


def _late_message(call: TrackedCall) -> ToolMessage:
    """Its result, unless the model has had it in another way."""
    message = result_message(call)
    return replace(message, text=ALREADY_KNOWN[call.known]) if call.known else message
