"""JSON text to a value and back, stricter than the standard library: no repeated key, no NaN, no half characters."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from typing import NoReturn, TypeAlias

from pydantic import JsonValue

from errands_config.agent_file.finding import Finding, as_error, key_path

_DEEPEST = 64
_MOST_DIGITS = 300  # so that every whole number is also a float
_Keys: TypeAlias = tuple[str | int, ...]


class _Read(dict[str, JsonValue]):
    """An object as it was read, with the keys that it had more than once."""

    repeated: tuple[str, ...] = ()


def read_json(text: str | bytes, origin: str) -> JsonValue:
    """The value of a JSON text.

    Raises ConfigError with line and column where the text is no JSON, and with the path where a key is repeated, a
    number is out of range, a string is no Unicode text, or parts are nested too deeply. `origin` names the file.
    """
    try:
        value = json.loads(_decoded(text), object_pairs_hook=_read_object, parse_constant=_no_number, parse_int=_whole)
    except (ValueError, RecursionError) as broken:
        raise as_error([Finding("", _why_broken(broken))], origin) from None
    if findings := list(_flaws(value, ())):
        raise as_error(findings, origin)
    return value


def canonical_json(value: JsonValue) -> str:
    """The one text of a JSON value: keys in order, no blanks."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))


def _decoded(text: str | bytes) -> str:
    return (text.decode() if isinstance(text, bytes) else text).removeprefix("\ufeff")


def _read_object(pairs: list[tuple[str, JsonValue]]) -> _Read:
    read = _Read(pairs)
    if len(read) < len(pairs):
        read.repeated = tuple(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
    return read


def _whole(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"a number of {len(digits)} digits is too large")
    return int(digits)


def _no_number(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")


def _why_broken(broken: ValueError | RecursionError) -> str:
    match broken:
        case json.JSONDecodeError():
            return f"not valid JSON at line {broken.lineno}, column {broken.colno}: {broken.msg}"
        case UnicodeDecodeError():
            return f"not UTF-8 text: byte {broken.start} cannot be read"
        case RecursionError():
            return f"nested more than {_DEEPEST} levels deep"
        case _:
            return f"not valid JSON: {broken}"


def _flaws(value: JsonValue, keys: _Keys) -> Iterator[Finding]:
    if len(keys) > _DEEPEST:
        yield Finding("", f"nested more than {_DEEPEST} levels deep")
    elif isinstance(value, _Read):
        yield from (Finding(key_path((*keys, key)), "this key stands here more than once") for key in value.repeated)
        for key, item in value.items():
            yield from _text_flaws(key, keys)
            yield from _flaws(item, (*keys, key))
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from _flaws(item, (*keys, position))
    elif isinstance(value, str):
        yield from _text_flaws(value, keys)
    elif isinstance(value, float) and not math.isfinite(value):
        yield Finding(key_path(keys), "this number is too large")


def _text_flaws(text: str, keys: _Keys) -> Iterator[Finding]:
    if any("\ud800" <= character <= "\udfff" for character in text):
        yield Finding(key_path(keys), "text with half of a surrogate pair is not Unicode text")
