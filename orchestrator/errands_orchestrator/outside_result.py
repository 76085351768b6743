"""What somebody outside hands in as a call's result: text, or JSON in a tagged form. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import orjson
from pydantic import JsonValue

from errands_config.errors import InvalidArguments
from errands_config.text import clean, fits, head_and_tail
from errands_config.wire import CallState, Outcome, ResultType


@dataclass(frozen=True, slots=True)
class Result:
    """A result as the model will read it."""

    text: str
    type: ResultType = "text"


def result_of(value: JsonValue) -> Result:
    """A value as a result: a string as it is, everything else as JSON. Errors as `outside_json`."""
    return Result(value) if isinstance(value, str) else Result(outside_json(value), "json")


def read_result(text: str) -> Result:
    """A document: `{"type": "text"|"json", "content": ...}`, `media` and `mixed` kept as JSON; else text, trimmed.

    What is nearly JSON (NaN, numbers out of range, half characters) is text, too.
    """
    trimmed = text.removeprefix("\ufeff").strip()
    try:
        orjson.loads(trimmed)  # refuses what the standard library lets pass, which keeps whole numbers of any size
        return _tagged(json.loads(trimmed)) or Result(trimmed)
    except (ValueError, RecursionError, InvalidArguments):
        return Result(trimmed)


def _tagged(document: Any) -> Result | None:
    """The result in a tagged document; None if it is none."""
    match document:
        case {"type": "text", "content": str(content), **rest} if not rest:
            return Result(content)
        case {"type": "json", "content": content, **rest} if not rest:
            return Result(outside_json(content), "json")
        case {"type": "media", "mimeType": str(), "base64Data": str()} | {"type": "mixed", "parts": list()}:
            return Result(outside_json(document), "json")
        case _:
            return None


def completed(result: Result, max_bytes: int) -> Outcome:
    """The end of a call with this result: clean, and within its bounds. JSON that is cut is text."""
    text = clean(result.text).text
    if fits(text, max_bytes):
        return Outcome(state=CallState.COMPLETED, result=text, result_type=result.type)
    return Outcome(state=CallState.COMPLETED, result=head_and_tail(text, max_bytes))


def outside_json(value: JsonValue) -> str:
    """Compact JSON of a value whose strings are clean: the gate, over the text, could take a quotation mark with it.

    Raises InvalidArguments for NaN and infinities, which JSON does not have, and for what is nested too deeply.
    """
    try:
        return json.dumps(_gated(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (ValueError, RecursionError):
        raise InvalidArguments("this has no JSON form: it holds NaN or an infinity, or is nested too deeply") from None


def _gated(value: JsonValue) -> JsonValue:
    match value:
        case str():
            return clean(value).text
        case dict():
            return {clean(key).text: _gated(item) for key, item in value.items()}
        case list():
            return [_gated(item) for item in value]
        case _:
            return value
