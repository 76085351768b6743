"""The seam to a language model: what it is asked, what it answers, and the protocol between the two."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

Finish: TypeAlias = Literal["stop", "tool_calls", "length", "content_filter", "other"]
"""Why a model stopped. Whether it called tools is said by `Reply.calls`, whatever stands here."""

ToolChoice: TypeAlias = Literal["auto", "none", "required"]

Dialect: TypeAlias = Literal["chat", "responses"]
"""Which API of the endpoint is spoken to, and so in what form a conversation is sent."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One question to a model. The JSON parts are prepared bytes that are sent as they are, never built anew."""

    model: str
    """The endpoint's name for the model."""
    messages: bytes
    """JSON array of messages (items in the Responses dialect), UTF-8."""
    tools: bytes = b""
    """JSON array of tool definitions, UTF-8; empty when there are none."""
    tool_choice: ToolChoice = "auto"
    """Says nothing unless there are tools."""


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A tool call as the model sent it. Nothing is checked: ids may be empty or equal, arguments may be no JSON."""

    provider_id: str
    name: str
    arguments: str
    is_async: bool = False
    """The answer says that the result may come in a later request."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that the endpoint counted."""

    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer. Every text in it can be encoded as UTF-8."""

    text: str
    calls: tuple[ModelCall, ...] = ()
    finish: Finish = "stop"
    usage: Usage | None = None


class Model(Protocol):
    """Something that answers a request. One object serves any number of requests at the same time, in one event loop.

    Cancelling a task that awaits `reply` ends the request at once.
    """

    async def reply(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> Reply:
        """Answer the request. `on_text` hears the text as it comes; its pieces joined are the reply's text.

        Raises ModelError, which says whether the same request may succeed later.
        """
        ...

    async def close(self) -> None:
        """Give back connections. The model is not used after this."""
        ...
