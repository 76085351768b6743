"""What the endpoint can be told to answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

FRESH = "<fresh>"
"""As a call's id: one that is unique over the endpoint's life."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call. `id` may be empty, equal to another, or None (null, in a stream left out)."""

    name: str
    arguments: str | None = "{}"
    id: str | None = FRESH
    is_async: bool | None = None
    """In the Responses API, whether it says that its result may come later; None: as its tool was offered."""


@dataclass(frozen=True, slots=True)
class Style:
    """How calls are streamed."""

    index: Literal["right", "zero", "missing"] = "right"
    ids: Literal["first", "every", "never"] = "first"
    names: Literal["first", "every"] = "first"
    interleaved: bool = False
    piece: int = 7
    """Characters of text or arguments in one piece."""


@dataclass(frozen=True, slots=True)
class Say:
    """A chat completion, or a response, streamed if the request asks for it."""

    text: str | None = None
    calls: tuple[Call, ...] = ()
    finish: str | None = ""
    """Empty: `tool_calls` with calls, else `stop`; None: null, so a stream ends without one."""
    style: Style = Style()
    pause: float = 0.0
    """Seconds before each piece of a stream, or before a whole answer."""
    cut_after: int | None = None
    """Pieces of a stream (or kilobytes of a whole answer) after which the connection breaks."""
    usage: tuple[int, int] | None = (11, 5)
    """Prompt and completion tokens; in a stream a last chunk with empty choices."""

    @property
    def reason(self) -> str | None:
        """The finish reason as it is sent."""
        return ("tool_calls" if self.calls else "stop") if self.finish == "" else self.finish


@dataclass(frozen=True, slots=True)
class Status:
    """An HTTP error in the API's form."""

    code: int
    message: str = "the test endpoint was told so"
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Raw:
    """Any bytes: garbage, HTML, a broken event stream."""

    body: bytes
    content_type: str = "application/json"
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Drop:
    """The connection is closed without a word."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Nothing until `StrictEndpoint.release()` or the client leaves; then `then`, or nothing still."""

    then: Say | Status | Raw | Drop | None = None


HANG = Hold()

Answer: TypeAlias = Say | Status | Raw | Drop | Hold
