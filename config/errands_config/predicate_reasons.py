"""Why a predicate of an agent file holds for some arguments, or does not: the single parts that decided. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from pydantic import JsonValue

from errands_config.agent_file.finding import shown
from errands_config.agent_file.policy_config import Keys
from errands_config.compiled_predicate import Nothing, compiled, value_at
from errands_config.predicate import AllOf, AnyOf, Equals, Exists, Glob, Not, Predicate


class Decided(NamedTuple):
    """A part of a predicate without parts of its own, and what it met in the arguments."""

    keys: Keys
    text: str


def what_decided(predicate: Predicate, arguments: JsonValue, keys: Keys) -> Iterator[Decided]:
    """The parts that made the predicate true, or false, of these arguments, each with its place below `keys`.

    Of an `all` that does not hold these are the parts that do not, of an `any` that holds the parts that do.
    """
    match predicate:
        case AllOf(parts=parts) | AnyOf(parts=parts):
            held = compiled(predicate)(arguments)
            operator = "all" if isinstance(predicate, AllOf) else "any"
            for position, part in enumerate(parts):
                if compiled(part)(arguments) is held:
                    yield from what_decided(part, arguments, (*keys, operator, position))
            if not parts:
                yield Decided(keys, f'"{operator}" of nothing {"always" if held else "never"} holds')
        case Not(part=part):
            yield from what_decided(part, arguments, (*keys, "not"))
        case _:
            yield Decided(keys, _met(predicate, arguments))


def _met(part: Equals | Glob | Exists, arguments: JsonValue) -> str:
    """What stands at the path, beside what the part wants there."""
    name = part.path or "the whole value"
    found = value_at(part.path, arguments)
    if isinstance(found, Nothing):
        return f"{name} is missing"
    held = compiled(part)(arguments)
    match part:
        case Exists():
            return f"{name} is there"
        case Equals(equals=wanted):
            return f"{name} is {shown(found)}" if held else f"{name} is {shown(found)}, not {shown(wanted)}"
        case Glob(glob=pattern):
            return f"{name} is {shown(found)}, which is {'' if held else 'not '}like {shown(pattern)}"
