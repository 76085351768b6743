"""Values of tools as JSON text that can be stored, sent and read again anywhere."""

from __future__ import annotations

import math
from typing import Any, cast

from pydantic_core import to_json, to_jsonable_python

from errands_config.errors import ToolError
from errands_config.text import clean

_BYTES = (bytes, bytearray, memoryview)
_DEEPEST = 100


class NotJson(ToolError):
    """A value that JSON cannot say. The text names the kind of value and its place, never its content."""


def json_text(value: object, *, constants: bool = False) -> str:
    """Compact JSON of a value: plain ones, dataclasses, pydantic models, dates, sets and what else pydantic knows.

    Strings in it pass the gate for foreign text. NotJson for bytes, for what has no JSON form, for rings and for what
    is nested too deeply, and for NaN and infinities unless `constants` lets them become `null`.
    """
    _refuse_bytes(value, "result", 0)
    try:
        plain = to_jsonable_python(value)
    except (ValueError, TypeError, RecursionError) as unfit:  # pydantic's own error is a ValueError
        raise NotJson(f"the result is not JSON-serialisable: {_why(unfit)}") from None
    return to_json(_gated(plain, "result", constants=constants)).decode()


def _why(error: Exception) -> str:
    return clean(str(error).partition("\n")[0]).text[:300]


def _refuse_bytes(value: object, place: str, depth: int) -> None:
    """Pydantic would take bytes for UTF-8 text, and fail or succeed by chance."""
    if isinstance(value, _BYTES):
        raise NotJson(f"the result is not JSON-serialisable: {place} is {type(value).__name__}; decode it first")
    if depth > _DEEPEST:
        raise NotJson(f"the result is not JSON-serialisable: nested more than {_DEEPEST} levels deep, or a ring")
    if isinstance(value, dict):
        for key, item in cast("dict[Any, Any]", value).items():
            _refuse_bytes(key, f"a key of {place}", depth + 1)
            _refuse_bytes(item, f"{place}[{_key(key)}]", depth + 1)
    elif isinstance(value, list | tuple | set | frozenset):
        for n, item in enumerate(cast("list[Any]", value)):
            _refuse_bytes(item, f"{place}[{n}]", depth + 1)


def _key(key: object) -> str:
    return clean(key[:40]).text if isinstance(key, str) else "…"


def _gated(value: Any, place: str, *, constants: bool) -> Any:
    match value:
        case str():
            return clean(value).text
        case float() if not math.isfinite(value):
            if constants:
                return None
            raise NotJson(f"the result is not JSON-serialisable: {place} is {value}, which JSON does not have")
        case dict():
            items = cast("dict[str, Any]", value).items()
            return {clean(k).text: _gated(v, f"{place}[{_key(k)}]", constants=constants) for k, v in items}
        case list():
            return [_gated(v, f"{place}[{n}]", constants=constants) for n, v in enumerate(cast("list[Any]", value))]
        case _:
            return value
