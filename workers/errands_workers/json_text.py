"""Values of tools as JSON text that can be stored, sent and read again anywhere."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any, cast

from pydantic_core import to_json, to_jsonable_python

from errands_config.errors import ToolError
from errands_config.text import clean

_DEEPEST = 100
# what a closer look must decide: escaped control characters, and the numbers that are none
_SUSPICIOUS = re.compile(r"\\[ubfr]|NaN|Infinity")


class NotJsonError(ToolError):
    """A value that JSON cannot say. The text names the kind of value and its place, never its content."""


def json_text(value: object, *, constants: bool = False) -> str:
    """Compact JSON of a value: plain ones, dataclasses, pydantic models, dates, sets and what else pydantic knows.

    Strings in it pass the gate for foreign text. NotJsonError for bytes, for what has no JSON form, for rings and for
    what is nested too deeply, and for NaN and infinities unless `constants` lets them become `null`.
    """
    if flaw := _flaw_of(value, 0):
        raise NotJsonError(f"not JSON-serialisable: {flaw}")
    try:
        plain = to_jsonable_python(value)
    except (ValueError, TypeError, RecursionError) as unfit:  # pydantic's own error is a ValueError
        raise NotJsonError(f"not JSON-serialisable: {_why(unfit)}") from None
    return _quick(plain) or to_json(_gated(plain, constants=constants)).decode()


def _why(error: Exception) -> str:
    return clean(str(error).partition("\n")[0]).text[:300]


def _quick(plain: Any) -> str | None:
    """The text, if no part of it needs a closer look."""
    try:
        text = to_json(plain).decode()
    except ValueError:  # a lone surrogate
        return None
    return None if _SUSPICIOUS.search(text) or clean(text).changed else text


def _flaw_of(value: object, depth: int) -> str | None:
    """Why a plain value is none for JSON. Pydantic would take bytes for text, and fail or succeed by chance."""
    if isinstance(value, bytes | bytearray | memoryview):
        return f"it holds {type(value).__name__}, which must be decoded"
    if depth > _DEEPEST:
        return f"it is nested more than {_DEEPEST} levels deep, or a ring"
    for item in _items(value):
        if flaw := _flaw_of(item, depth + 1):
            return flaw
    return None


def _items(value: object) -> Iterator[object]:
    if isinstance(value, dict):
        for key, item in cast("dict[object, object]", value).items():
            yield key
            yield item
    elif isinstance(value, list | tuple | set | frozenset):
        yield from cast("list[object]", value)


def _gated(value: Any, *, constants: bool) -> Any:
    match value:
        case str():
            return clean(value).text
        case float() if not math.isfinite(value):
            if constants:
                return None
            raise NotJsonError(f"not JSON-serialisable: it holds {value}, which JSON does not have")
        case dict():
            items = cast("dict[str, Any]", value).items()
            return {clean(key).text: _gated(item, constants=constants) for key, item in items}
        case list():
            return [_gated(item, constants=constants) for item in cast("list[Any]", value)]
        case _:
            return value
