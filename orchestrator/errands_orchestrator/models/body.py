"""A request's JSON text, joined from its prepared parts."""

from __future__ import annotations

import json
from typing import Literal

from errands_orchestrator.models.model import ModelRequest


def request_body(
    request: ModelRequest, *, stream: bool, list_name: Literal["messages", "input"], also: bytes = b""
) -> bytes:
    """The body of a request. `list_name` is the API's name for the conversation; `also` are members of its own."""
    parts = [b'{"model":', json.dumps(request.model).encode(), also]
    if stream:
        parts.append(b',"stream":true')
    if request.tools:
        parts += [b',"tools":', request.tools]
        if request.tool_choice != "auto":
            parts.append(b',"tool_choice":"%b"' % request.tool_choice.encode())
    return b"".join([*parts, b',"%b":' % list_name.encode(), request.messages, b"}"])
