"""References in arguments: `{"$result": NAME, "path"?: PATH}` stands for the result of a call. Pure.

Honest data is left alone: an object is a reference only if it has exactly these keys and both are texts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from errands_orchestrator.arguments import strict_json

RESULT = "$result"
PATH = "path"
MOST_ARGUMENTS = 1024 * 1024
"""Most bytes of arguments that results were put into."""
_INDEX = re.compile("[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Reference:
    """A call as it is named, and a place in its result: keys and indices joined by dots; empty: all of it."""

    name: str
    path: str


@dataclass(frozen=True, slots=True)
class Referred:
    """The result of a call that has completed."""

    text: str
    is_json: bool


class NowhereError(Exception):
    """A reference that stands for nothing that can be put into arguments."""


def references_in(value: JsonValue) -> tuple[Reference, ...]:
    """All references, each once. Raises RecursionError."""
    return tuple(dict.fromkeys(_found(value)))


def _found(value: JsonValue) -> Iterator[Reference]:
    if reference := _reference(value):
        yield reference
    elif isinstance(value, dict):
        for part in value.values():
            yield from _found(part)
    elif isinstance(value, list):
        for part in value:
            yield from _found(part)


def _reference(value: JsonValue) -> Reference | None:
    if not isinstance(value, dict) or RESULT not in value or not value.keys() <= {RESULT, PATH}:
        return None
    name, path = value[RESULT], value.get(PATH, "")
    return Reference(name, path) if isinstance(name, str) and isinstance(path, str) else None


def substituted(value: JsonValue, found: Mapping[Reference, JsonValue]) -> JsonValue:
    """The arguments with every reference replaced. What came in with a result is data and is not looked into.

    Raises NowhereError for a reference that nothing was found for.
    """
    if reference := _reference(value):
        if reference not in found:
            raise _nowhere(reference)
        return found[reference]
    if isinstance(value, dict):
        return {key: substituted(part, found) for key, part in value.items()}
    if isinstance(value, list):
        return [substituted(part, found) for part in value]
    return value


@dataclass(frozen=True, slots=True)
class Values:
    """What references stand for; those that lead nowhere are left out."""

    found: Mapping[Reference, JsonValue]
    size: int
    """Characters of all of it as JSON."""


def values_at(result: Referred, references: Sequence[Reference]) -> Values:
    """Follow references into one result. A text is a text; with a path, or where its tool answered JSON, it is what it
    says. Reads megabytes, once."""
    whole: JsonValue = result.text
    found: dict[Reference, JsonValue] = {}
    size = 0
    if result.is_json or any(reference.path for reference in references):
        try:
            whole = strict_json(result.text)
        except (ValueError, RecursionError):
            references = () if result.is_json else [it for it in references if not it.path]
    for reference in references:
        try:
            value = _at(whole, reference.path) if reference.path or result.is_json else result.text
            size += len(json.dumps(value, ensure_ascii=False))
            found[reference] = value
        except (LookupError, RecursionError):
            continue
    return Values(found, size)


def _at(whole: JsonValue, path: str) -> JsonValue:
    """Raises LookupError where the path leads nowhere."""
    place = whole
    for step in path.split(".") if path else ():
        place = _step(place, step)
    return place


def _step(place: JsonValue, step: str) -> JsonValue:
    if isinstance(place, dict):
        return place[step]
    if isinstance(place, list) and _INDEX.fullmatch(step):
        return place[int(step)]
    raise LookupError(step)


def _nowhere(reference: Reference) -> NowhereError:
    where = f"the path {reference.path!r}" if reference.path else "a reference"
    return NowhereError(f"{where} leads nowhere in the result of {reference.name}")
