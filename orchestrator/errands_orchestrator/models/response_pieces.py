"""What an endpoint may say in the Responses API, read leniently: a whole response, or an event of a stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, cast

from pydantic import Field, PlainValidator, ValidationError

from errands_orchestrator.models.model import Usage
from errands_orchestrator.models.pieces import AnswerError, Content, Lenient, ReportedError, Text, unreadable

_REPORTS = ("error", "response.failed")


def _usage(value: object) -> Usage | None:
    counts = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    prompt, completion = counts.get("input_tokens"), counts.get("output_tokens")
    return Usage(prompt, completion) if isinstance(prompt, int) and isinstance(completion, int) else None


def _is_true(value: object) -> bool:
    return value is True


class ItemPiece(Lenient):
    """One item of the output. Those that are neither message nor call say nothing that is kept."""

    type: Text = ""
    content: Content = ""
    call_id: Text = ""
    name: Text = ""
    arguments: Text = ""
    is_async: Annotated[bool, PlainValidator(_is_true), Field(alias="async")] = False


class Incomplete(Lenient):
    """Why a response ended early."""

    reason: Text = ""


class ResponsePiece(Lenient):
    """A response."""

    status: Text = ""
    output: tuple[ItemPiece, ...] | None = None
    incomplete_details: Incomplete | None = None
    error: object = None
    usage: Annotated[Usage | None, PlainValidator(_usage)] = None


class EventPiece(Lenient):
    """An event of a stream; a whole answer is one without a type."""

    type: Text = ""
    delta: Text = ""
    item: ItemPiece | None = None
    response: ResponsePiece | None = None


def read_event(document: object) -> EventPiece:
    """Read one decoded JSON document. Raises AnswerError if it has another form, ReportedError if it is an error."""
    try:
        event = EventPiece.model_validate(document)
        if not event.type:
            event = EventPiece(response=ResponsePiece.model_validate(document))
    except ValidationError as error:
        raise unreadable(error) from None
    failed = event.response and (event.response.error or event.response.status == "failed")
    if event.type in _REPORTS or failed:
        raise ReportedError((event.response and event.response.error) or _reported(document))
    if not event.type and event.response and event.response.output is None:
        raise AnswerError("it has no output")
    return event


def _reported(document: object) -> object:
    fields: Mapping[str, object] = cast("Mapping[str, object]", document) if isinstance(document, dict) else {}
    return fields.get("error") or fields.get("message") or document
