"""Predicates over the arguments of a call, as they stand in an agent file. See `compiled_predicate`. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypeAlias, cast

from pydantic import Field, JsonValue, WrapValidator

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
