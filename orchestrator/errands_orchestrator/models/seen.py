"""A prepared request as a model sees it: its messages, parsed. For models that are no endpoint."""

from __future__ import annotations

from pydantic import TypeAdapter

from errands_orchestrator.models.model import ModelRequest
from errands_orchestrator.models.pieces import MessagePiece, Text


class SeenMessage(MessagePiece):
    """One message of a request. `text` and `calls` are those of an answer."""

    role: str
    tool_call_id: Text = ""
    """The call that a tool message answers."""


_MESSAGES = TypeAdapter(tuple[SeenMessage, ...])


def seen(request: ModelRequest) -> tuple[SeenMessage, ...]:
    """The messages of a request, in order. Raises pydantic's ValidationError if they are no list of messages."""
    return _MESSAGES.validate_json(request.messages)
