"""A prepared request as a model sees it: its messages, parsed. For models that are no endpoint."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

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
    return seen_messages(json.loads(request.messages))


def seen_messages(messages: Sequence[object]) -> tuple[SeenMessage, ...]:
    """Decoded messages, or items of the Responses API, which become the messages that the chat API would have."""
    taken: list[object] = []
    for item in messages:
        _take_in(taken, item)
    return _MESSAGES.validate_python(taken)


def _take_in(taken: list[object], item: object) -> None:
    fields = cast("dict[str, Any]", item) if isinstance(item, dict) else {}
    match fields.get("type"):
        case "function_call_output":
            taken.append({"role": "tool", "tool_call_id": fields["call_id"], "content": fields["output"]})
        case "function_call":
            _take_call(taken, fields)
        case _:
            taken.append(item)


def _take_call(taken: list[object], item: Mapping[str, Any]) -> None:
    """A call belongs to the answer right before it, if there is one."""
    call = {"id": item["call_id"], "function": {"name": item["name"], "arguments": item["arguments"]}}
    before = cast("dict[str, Any]", taken[-1]) if taken and isinstance(taken[-1], dict) else {}
    if before.get("role") == "assistant":
        taken[-1] = {**before, "tool_calls": [*before.get("tool_calls", ()), call]}
    else:
        taken.append({"role": "assistant", "content": None, "tool_calls": [call]})
