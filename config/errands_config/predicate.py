"""Predicates over the arguments of a call: how they stand in an agent file, and whether one holds. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, TypeAlias, cast

from pydantic import Field, JsonValue, WrapValidator

from errands_config import glob
from errands_config.agent_file.file_model import FileModel, Many
from errands_config.agent_file.finding import guess, one_of, shown
from errands_config.agent_file.wording import refuse


class Equals(FileModel):
    """A value exists at the path and is equal to this one."""

    path: str
    """Keys and positions joined by dots; empty: the whole arguments."""
    equals: JsonValue


class Glob(FileModel):
    """A string exists at the path and has the form of the glob (`*` only)."""

    path: str
    """Keys and positions joined by dots; empty: the whole arguments."""
    glob: str


class Exists(FileModel):
    """Whether a value exists at the path; null is a value."""

    path: str
    """Keys and positions joined by dots; empty: the whole arguments."""
    exists: bool


class AllOf(FileModel):
    """Every part holds."""

    parts: Many[Predicate] = Field(alias="all")


class AnyOf(FileModel):
    """At least one part holds."""

    parts: Many[Predicate] = Field(alias="any")


class Not(FileModel):
    """The part does not hold."""

    part: Predicate = Field(alias="not")


_OPERATORS: Mapping[str, type[FileModel]] = {
    "equals": Equals,
    "glob": Glob,
    "exists": Exists,
    "all": AllOf,
    "any": AnyOf,
    "not": Not,
}


def _by_operator(value: object, _: object) -> FileModel:
    if not isinstance(value, dict):
        refuse(f"a predicate is an object with {one_of(_OPERATORS)}, got {shown(value)}")
    keys = list(cast("dict[str, object]", value))
    operators = [key for key in keys if key in _OPERATORS]
    if len(operators) == 1:
        return _OPERATORS[operators[0]].model_validate(value)
    if operators:
        found = ", ".join(operators)
        refuse(f'two operators in one object ({found}); put a predicate for each into {{"all": [...]}}')
    for key in keys:
        if key != "path":
            refuse(f"unknown operator{guess(key, _OPERATORS)}; {one_of(_OPERATORS)}", key)
    return refuse(f"no operator; {one_of(_OPERATORS)} is expected")


Predicate: TypeAlias = Annotated[Equals | Glob | Exists | AllOf | AnyOf | Not, WrapValidator(_by_operator)]
"""One operator an object."""

for _model in (AllOf, AnyOf, Not):
    _model.model_rebuild()

_POSITION = re.compile(r"0|[1-9][0-9]{0,8}")


class _Nothing:
    """No value stands at a path."""


_NOTHING = _Nothing()


def holds(predicate: Predicate, arguments: JsonValue) -> bool:
    """Whether the predicate is true of what the model sent; arguments that were not valid JSON are None."""
    match predicate:
        case Equals(path=path, equals=wanted):
            found = _value_at(path, arguments)
            return not isinstance(found, _Nothing) and same_json(found, wanted)
        case Glob(path=path, glob=pattern):
            found = _value_at(path, arguments)
            return isinstance(found, str) and glob.matches(pattern, found)
        case Exists(path=path, exists=wanted):
            return (_value_at(path, arguments) is not _NOTHING) == wanted
        case AllOf(parts=parts):
            return all(holds(part, arguments) for part in parts)
        case AnyOf(parts=parts):
            return any(holds(part, arguments) for part in parts)
        case Not(part=part):
            return not holds(part, arguments)


def _value_at(path: str, value: JsonValue) -> JsonValue | _Nothing:
    for step in path.split(".") if path else ():
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and _POSITION.fullmatch(step) and int(step) < len(value):
            value = value[int(step)]
        else:
            return _NOTHING
    return value


def same_json(one: JsonValue, other: JsonValue) -> bool:
    """Equality of JSON: 1 is 1.0, but true is not 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_json(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_json, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and one == other
