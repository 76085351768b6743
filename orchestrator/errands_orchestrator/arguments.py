"""The one reading of a call's arguments: strict JSON, then the tool's schema. Nothing is guessed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import cast

import jsonschema_rs
import orjson
from pydantic import JsonValue

from errands_config.text import clean

_UNREADABLE_SHOWN = 2_000
_ERRORS_SHOWN = 3
_ERROR_LENGTH = 300
_SCHEMA_SHOWN = 1_000


@dataclass(frozen=True, slots=True)
class Arguments:
    """Arguments as they stand in the history and in the record, and what is wrong with them."""

    text: str
    """JSON text of an object, whatever was sent."""
    value: JsonValue
    """None if what was sent is no JSON object."""
    fault: str = ""


def read_arguments(sent: str, schema: str | None) -> Arguments:
    """Read what the model sent. `schema` is the JSON text of the tool's schema; None checks the form alone."""
    if sent.strip() in ("", "null"):
        sent = "{}"
    try:
        value = _object(sent)
    except (ValueError, RecursionError) as broken:
        shown = orjson.dumps({"_unreadable": clean(sent).text[:_UNREADABLE_SHOWN]}).decode()
        return Arguments(shown, None, f"{_why(broken)}{_wanted(schema)}")
    return Arguments(sent, value, breach(value, schema) if schema else "")


def strict_json(text: str, pairs_hook: Callable[[list[tuple[str, JsonValue]]], JsonValue] = dict) -> JsonValue:
    """The value of a JSON text. Raises ValueError or RecursionError for what others could not read again."""
    # orjson refuses what the standard library lets pass: NaN, numbers out of range, lone surrogates, deep nesting;
    # the standard library keeps whole numbers of any size and tells of keys that are there twice
    orjson.loads(text)
    return cast("JsonValue", json.loads(text, object_pairs_hook=pairs_hook))


def _object(text: str) -> JsonValue:
    """The object of a JSON text. Raises ValueError or RecursionError for everything else."""
    value = strict_json(text, _without_repeats)
    if not isinstance(value, dict):
        raise ValueError("a JSON object is expected")
    return value


def _without_repeats(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a key stands there twice")
    return value


def _why(broken: ValueError | RecursionError) -> str:
    match broken:
        case json.JSONDecodeError():
            return f"not valid JSON at line {broken.lineno}, column {broken.colno}: {broken.msg}"
        case RecursionError():
            return "nested too deeply"
        case _:
            return str(broken)


def _wanted(schema: str | None) -> str:
    return f"; the schema is {schema[:_SCHEMA_SHOWN]}" if schema else ""


def breach(value: JsonValue, schema: str) -> str:
    """What the schema has against the value; empty if nothing."""
    validator = _validator(schema)
    if isinstance(validator, str):
        return validator
    try:
        errors = list(islice(validator.iter_errors(value), _ERRORS_SHOWN))
    except ValueError:
        return f"nested too deeply to be checked{_wanted(schema)}"
    return f"{'; '.join(map(_said, errors))}{_wanted(schema)}" if errors else ""


def _said(error: jsonschema_rs.ValidationError) -> str:
    place = "".join(f"/{step}" for step in error.instance_path)
    message = error.message if len(error.message) <= _ERROR_LENGTH else f"{error.message[:_ERROR_LENGTH]}…"
    return f"at {place}: {message}" if place else message


@lru_cache(maxsize=1024)
def _validator(schema: str) -> jsonschema_rs.Validator | str:
    """The compiled schema; a text if it is none. Offline: a reference to an address is an error, never a request."""
    try:
        return jsonschema_rs.validator_for(orjson.loads(schema), offline=True)
    except ValueError as broken:
        return f"the tool's own schema cannot be used: {str(broken)[:_ERROR_LENGTH]}"
