"""`--set NAME=VALUE`: values of an agent's parameters on a command line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, TypeAlias

import orjson
from cyclopts import Parameter
from pydantic import JsonValue

from errands_orchestrator.cli.exit_codes import UsageError

Assignments: TypeAlias = Annotated[
    list[str] | None,
    Parameter(
        name="--set",
        negative="",
        help="NAME=VALUE for a parameter of the agent; may be given several times. VALUE is JSON where it can be read "
        "as such, else text.",
    ),
]


def assigned(words: Sequence[str] | None) -> dict[str, JsonValue]:
    """The values by their names. Raises UsageError; no error repeats a value."""
    values: dict[str, JsonValue] = {}
    for word in words or ():
        name, equals, text = word.partition("=")
        if not (name and equals):
            raise UsageError("--set wants NAME=VALUE")
        if name in values:
            raise UsageError(f"--set names {name} twice")
        values[name] = _value(text)
    return values


def _value(text: str) -> JsonValue:
    try:
        orjson.loads(text)  # refuses what the standard library lets pass, which keeps whole numbers of any size
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
