"""What an OpenAI-compatible endpoint may say in chat, read leniently: one document, whole answer or piece of a stream.

Endpoints leave out fields, send null for empty, objects where the API says text, and text in parts. Here all of that
becomes one form; what cannot be read raises `AnswerError`.
"""

from __future__ import annotations

import json
from typing import Annotated, cast

from pydantic import BaseModel, ConfigDict, PlainValidator, ValidationError

from errands_orchestrator.models.model import Usage


class AnswerError(Exception):
    """An answer that is none of a model. The text says why, as the end of a sentence about it."""


class ReportedError(AnswerError):
    """An error that the endpoint reports in an answer which began as a success. `body` is what it says, decoded."""

    def __init__(self, body: object) -> None:
        super().__init__("an error report")
        self.body = body


_SPOKEN = {"text": "text", "output_text": "text", "refusal": "refusal"}
"""What stands in the parts of a content that say something, by their type."""


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _content(value: object) -> str:
    if isinstance(value, list):
        return "".join(_part(part) for part in cast("list[object]", value))
    return _text(value)


def _part(part: object) -> str:
    if isinstance(part, dict):
        said = cast("dict[str, object]", part)
        field = _SPOKEN.get(str(said.get("type", "text")), "")
        return _text(said.get(field))
    return _text(part)


def _usage(value: object) -> Usage | None:
    counts = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    prompt, completion = counts.get("prompt_tokens"), counts.get("completion_tokens")
    return Usage(prompt, completion) if isinstance(prompt, int) and isinstance(completion, int) else None


Text = Annotated[str, PlainValidator(_text)]
Content = Annotated[str, PlainValidator(_content)]


class Lenient(BaseModel):
    """Takes what it knows and leaves the rest."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class FunctionPiece(Lenient):
    """Name and arguments of a call, or a part of them."""

    name: Text = ""
    arguments: Text = ""


class CallPiece(Lenient):
    """A tool call or, in a stream, a part of one."""

    index: int | None = None
    id: Text = ""
    function: FunctionPiece | None = None


class MessagePiece(Lenient):
    """What the assistant says: the `message` of a whole answer, the `delta` of a stream."""

    content: Content = ""
    refusal: Text = ""
    tool_calls: tuple[CallPiece, ...] | None = None
    function_call: FunctionPiece | None = None

    @property
    def text(self) -> str:
        """What is said; a refusal is said too."""
        return self.content + self.refusal

    @property
    def calls(self) -> tuple[CallPiece, ...]:
        """The calls, of the old single form too."""
        old = (CallPiece(function=self.function_call),) if self.function_call else ()
        return (self.tool_calls or ()) + old


class ChoicePiece(Lenient):
    """One choice. Some gateways split a single answer over several."""

    message: MessagePiece | None = None
    delta: MessagePiece | None = None
    finish_reason: Text = ""


class Document(Lenient):
    """One JSON document of an answer."""

    choices: tuple[ChoicePiece, ...] | None = None
    error: object = None
    usage: Annotated[Usage | None, PlainValidator(_usage)] = None


def read(document: object) -> Document:
    """Read one decoded JSON document. Raises AnswerError if it has another form, ReportedError if it is an error."""
    try:
        piece = Document.model_validate(document)
    except ValidationError as error:
        raise unreadable(error) from None
    if piece.error:
        raise ReportedError(piece.error)
    return piece


def unreadable(error: ValidationError) -> AnswerError:
    """What is said of a document of another form."""
    first = error.errors(include_url=False, include_input=False)[0]
    path = ".".join(str(step) for step in first["loc"])
    return AnswerError(f"`{path or 'the document'}` cannot be read: {first['msg']}")
