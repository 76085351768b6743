"""Whether a predicate of an agent file holds for the arguments of a call: compiled once, asked for every call. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeAlias

from pydantic import JsonValue

from errands_config import glob
from errands_config.predicate import AllOf, AnyOf, Equals, Exists, Glob, Not, Predicate

Holds: TypeAlias = Callable[[JsonValue], bool]
"""Whether something is true of what the model sent; arguments that were no JSON object are None."""


class Nothing:
    """No value stands at a path."""


NOTHING: Final = Nothing()

_Steps: TypeAlias = tuple[tuple[str, int], ...]
"""Keys on the way to a value, each with the position in a list that it also is; -1 if it is none."""

_POSITION = re.compile(r"0|[1-9][0-9]{0,8}")


def compiled(predicate: Predicate) -> Holds:
    """A predicate as a function, which is faster than reading its parts anew for every call."""
    match predicate:
        case Equals(path=path, equals=wanted):
            return _equals(_steps(path), wanted)
        case Glob(path=path, glob=pattern):
            return _like(_steps(path), pattern)
        case Exists(path=path, exists=wanted):
            return _exists(_steps(path), wanted)
        case AllOf(parts=parts):
            return _all(tuple(map(compiled, parts)))
        case AnyOf(parts=parts):
            return _any(tuple(map(compiled, parts)))
        case Not(part=part):
            return _not(compiled(part))


def value_at(path: str, arguments: JsonValue) -> JsonValue | Nothing:
    """What stands at a path, or NOTHING; the empty path is the whole value."""
    return _found(_steps(path), arguments)


def _steps(path: str) -> _Steps:
    keys = path.split(".") if path else []
    return tuple((key, int(key) if _POSITION.fullmatch(key) else -1) for key in keys)


def _found(steps: _Steps, value: JsonValue | Nothing) -> JsonValue | Nothing:
    for key, position in steps:
        if isinstance(value, dict):
            value = value.get(key, NOTHING)
        elif isinstance(value, list) and 0 <= position < len(value):
            value = value[position]
        else:
            return NOTHING
    return value


def _equals(steps: _Steps, wanted: JsonValue) -> Holds:
    if isinstance(wanted, str):  # nothing but a string is equal to one
        return lambda arguments: _found(steps, arguments) == wanted

    def equals(arguments: JsonValue) -> bool:
        found = _found(steps, arguments)
        return not isinstance(found, Nothing) and _same(found, wanted)

    return equals


def _like(steps: _Steps, pattern: str) -> Holds:
    def like(arguments: JsonValue) -> bool:
        found = _found(steps, arguments)
        return isinstance(found, str) and glob.matches(pattern, found)

    return like


def _exists(steps: _Steps, wanted: bool) -> Holds:
    return lambda arguments: (_found(steps, arguments) is not NOTHING) is wanted


def _all(parts: tuple[Holds, ...]) -> Holds:
    def every(arguments: JsonValue) -> bool:
        for part in parts:  # noqa: SIM110 - a generator for `all` would take twice as long
            if not part(arguments):
                return False
        return True

    return every


def _any(parts: tuple[Holds, ...]) -> Holds:
    def some(arguments: JsonValue) -> bool:
        for part in parts:  # noqa: SIM110 - as above
            if part(arguments):
                return True
        return False

    return some


def _not(part: Holds) -> Holds:
    return lambda arguments: not part(arguments)


def _same(one: JsonValue, other: JsonValue) -> bool:
    """Equality of JSON: 1 is 1.0, but true is not 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and one == other
