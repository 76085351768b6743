"""Pydantic's errors in plain words.

They are reworded at the model where they arise, because only there the known keys are at hand for a hint. What leaves a
model is an error of the type `SAID`, with a final text and a path of keys that stand in the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, NoReturn

from pydantic import ValidationError
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from errands_config.agent_file.finding import Finding, guess, key_path, nearest, one_of, shown
from errands_config.agent_file.names import FORMS

SAID = "said"
"""Type of an error whose text is final."""


def error_at(text: str, *keys: str | int, value: object = None) -> InitErrorDetails:
    """One line of a validation error with a final text, at `keys` below the model that raises it."""
    return InitErrorDetails(type=PydanticCustomError(SAID, "{text}", {"text": text}), loc=keys, input=value)


def refuse(text: str, *keys: str | int, value: object = None) -> NoReturn:
    """Raise one such line as a ValidationError."""
    raise ValidationError.from_exception_data("agent file", [error_at(text, *keys, value=value)])


def findings_of(invalid: ValidationError) -> list[Finding]:
    """What a model of the agent file found wrong."""
    return [Finding(key_path(error["loc"]), error["msg"]) for error in invalid.errors(include_url=False)]


def reworded(invalid: ValidationError, keys: Collection[str]) -> ValidationError:
    """The same errors in plain words. A required key that was only misspelt is named once, by its misspelling."""
    errors = invalid.errors(include_url=False)
    misspelt = {nearest(str(error["loc"][-1]), keys) for error in errors if error["type"] == "extra_forbidden"}
    lines = [
        error_at(_plain(error, keys), *error["loc"], value=error["input"])
        for error in errors
        if not (error["type"] == "missing" and error["loc"][-1] in misspelt)
    ]
    return ValidationError.from_exception_data(invalid.title, lines)


def _plain(error: ErrorDetails, keys: Collection[str]) -> str:
    kind = error["type"]
    if kind == SAID:
        return error["msg"]
    if kind == "extra_forbidden":
        return "unknown key" + (guess(str(error["loc"][-1]), keys) or f"; known here: {', '.join(keys)}")
    context = error.get("ctx", {})
    text = _SAYINGS[kind](context) if kind in _SAYINGS else error["msg"]
    hint = guess(str(error["input"]), _words(context)) if kind == "literal_error" else ""
    return text if kind in _WITHOUT_VALUE else f"{text}, got {shown(error['input'])}{hint}"


def _words(context: Mapping[str, Any]) -> list[str]:
    return re.findall(r"'([^']*)'", str(context["expected"]))


_SAYINGS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "missing": lambda _: "required, but missing",
    "string_type": lambda _: "a string is expected",
    "string_pattern_mismatch": lambda context: f"{FORMS[context['pattern']]} is expected",
    "string_too_short": lambda _: "must not be empty",
    "bool_type": lambda _: "true or false is expected",
    "int_type": lambda _: "a whole number is expected",
    "int_from_float": lambda _: "a whole number is expected",
    "float_type": lambda _: "a number is expected",
    "greater_than": lambda context: f"must be more than {context['gt']:g}",
    "greater_than_equal": lambda context: f"must be at least {context['ge']:g}",
    "less_than_equal": lambda context: f"must be at most {context['le']:.0f}",
    "tuple_type": lambda _: "a list is expected",
    "list_type": lambda _: "a list is expected",
    "dict_type": lambda _: "an object is expected",
    "model_type": lambda _: "an object is expected",
    "literal_error": lambda context: f"{one_of(_words(context))} is expected",
    "value_error": lambda context: str(context["error"]),
}
_WITHOUT_VALUE = frozenset({"missing", "value_error"})
