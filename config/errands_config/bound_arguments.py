"""The schema of a tool without the arguments that are bound for it. Pure: the same schema gives the same bytes."""

from __future__ import annotations

import json
from collections.abc import Collection
from functools import lru_cache
from typing import cast

from pydantic import JsonValue


@lru_cache(maxsize=1024)
def arguments_of(parameters: str) -> frozenset[str]:
    """The arguments that a tool takes, by the JSON text of its schema."""
    properties = _read(parameters).get("properties")
    return frozenset(properties) if isinstance(properties, dict) else frozenset()


def without_arguments(parameters: str, bound: Collection[str]) -> str:
    """The schema without these arguments: they are no property and not required. Everything else stays as it is.

    A schema that has none of them keeps its bytes.
    """
    if arguments_of(parameters).isdisjoint(bound):
        return parameters
    schema = _read(parameters)
    properties = cast("dict[str, JsonValue]", schema["properties"])
    schema["properties"] = {name: one for name, one in properties.items() if name not in bound}
    required = schema.get("required")
    if isinstance(required, list):
        schema["required"] = [name for name in required if name not in bound]
    return json.dumps(schema, ensure_ascii=False, separators=(",", ":"))


def _read(parameters: str) -> dict[str, JsonValue]:
    value: JsonValue = json.loads(parameters)
    return value if isinstance(value, dict) else {}
