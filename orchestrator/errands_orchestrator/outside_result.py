"""What somebody outside hands in as a call's result: text, or JSON in a tagged form. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from errands_config.text import clean, fits, head_and_tail
from errands_config.wire import CallState, Outcome, ResultType


@dataclass(frozen=True, slots=True)
class Result:
    """A result as the model will read it."""

    text: str
    type: ResultType = "text"


def result_of(value: JsonValue) -> Result:
    """A value as a result: a string as it is, everything else as JSON."""
    return Result(value) if isinstance(value, str) else Result(_compact(value), "json")


def read_result(text: str) -> Result:
    """A document: `{"type": "text"|"json", "content": ...}`, `media` and `mixed` kept as JSON; else text, trimmed."""
    trimmed = text.removeprefix("\ufeff").strip()
    try:
        document: Any = json.loads(trimmed)
    except (ValueError, RecursionError):
        return Result(trimmed)
    return _tagged(document) or Result(trimmed)


def _tagged(document: Any) -> Result | None:
    """The result in a tagged document; None if it is none."""
    match document:
        case {"type": "text", "content": str(content), **rest} if not rest:
            return Result(content)
        case {"type": "json", "content": content, **rest} if not rest:
            return Result(_compact(content), "json")
        case {"type": "media", "mimeType": str(), "base64Data": str()} | {"type": "mixed", "parts": list()}:
            return Result(_compact(document), "json")
        case _:
            return None


def completed(result: Result, max_bytes: int) -> Outcome:
    """The end of a call with this result: clean, and within its bounds. JSON that is cut is text."""
    text = clean(result.text).text
    if fits(text, max_bytes):
        return Outcome(state=CallState.COMPLETED, result=text, result_type=result.type)
    return Outcome(state=CallState.COMPLETED, result=head_and_tail(text, max_bytes))


def _compact(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
