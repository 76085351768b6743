"""A JSON schema's values in plain words. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from docs.generate.markdown import code, codes

from errands_config.agent_file.names import FORMS

Schema: TypeAlias = Mapping[str, Any]

_LARGE = 10**8
"""A bound above this is there for arithmetic, and tells a reader nothing."""
_TYPES = {"string": "text", "integer": "whole number", "number": "number", "object": "object", "array": "list"}


def values_of(schema: Schema, named: Callable[[str], str]) -> str:
    """What may stand there. `named` gives the words for a part that stands elsewhere in the schema."""
    match schema:
        case {"$ref": str(reference)}:
            return named(reference.rpartition("/")[2])
        case {"anyOf": [*choices]}:
            words = [values_of(choice, named) for choice in choices if choice != {"type": "null"}]
            return " or ".join(dict.fromkeys(words))
        case {"enum": [*words]}:
            return codes(map(str, words))
        case {"const": word}:
            return code(str(word))
        case {"type": "boolean"}:
            return "`true`, `false`"
        case {"type": "array", "items": items}:
            return f"list: {values_of(items, named)}"
        case {"type": "object", "additionalProperties": dict(values)}:
            return f"object, each value: {values_of(values, named)}"
        case {"pattern": str(pattern)} if pattern in FORMS:
            return FORMS[pattern]
        case _:
            return _TYPES.get(str(schema.get("type")), "any JSON") + _bounds(schema)


def _bounds(schema: Schema) -> str:
    lowest, above = schema.get("minimum"), schema.get("exclusiveMinimum")
    highest, below = schema.get("maximum", _LARGE), schema.get("exclusiveMaximum")
    said = [
        f"≥ {lowest:g}" if lowest is not None else "",
        f"> {above:g}" if above is not None else "",
        f"≤ {highest:,g}" if highest < _LARGE else "",
        f"< {below:g}" if below is not None else "",
    ]
    bounds = ", ".join(bound for bound in said if bound)
    return f" {bounds}" if bounds else ""


def default_of(schema: Schema, *, required: bool) -> str:
    """What holds where nothing is written."""
    if required:
        return "required"
    default = schema.get("default")
    return "-" if default in (None, "", {}, []) else code(json.dumps(default))
