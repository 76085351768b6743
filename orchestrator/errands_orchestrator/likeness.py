"""Equal calls: what makes two calls equal, and what becomes of the second one. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import JsonValue

from errands_config.agent import Registry
from errands_config.wire import Outcome
from errands_orchestrator.injected import CONFIRM
from errands_orchestrator.session import TrackedCall
from errands_orchestrator.texts import not_run


def likeness(value: JsonValue) -> str:
    """A fingerprint that equal arguments share, whatever their blanks and the order of their keys; empty where they
    cannot be compared."""
    try:
        canonical = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(canonical.encode()).hexdigest()[:32]
    except (ValueError, RecursionError):
        return ""


@dataclass(frozen=True, slots=True)
class Duplicate:
    """What becomes of a call that equals one in flight; all empty: it runs like any other."""

    refusal: Outcome | None = None
    same_as: TrackedCall | None = None
    """The call that it stands for from now on."""
    replaces: tuple[str, ...] = ()
    """The calls that end because of it."""


NO_DUPLICATE = Duplicate()


def duplicate(
    registry: Registry, name: str, mark: str, in_flight: Iterable[TrackedCall], *, confirmed: bool
) -> Duplicate:
    """Compare a call with those that have not ended. `mark`: its likeness."""
    if registry.on_duplicate == "allow" or (registry.on_duplicate == "confirm" and confirmed):
        return NO_DUPLICATE
    by_name = registry.duplicate_scope == "name"
    if not (by_name or mark):
        return Duplicate(not_run("its arguments cannot be compared with those of the calls in flight"))
    equal = [call for call in in_flight if call.name == name and (by_name or call.likeness == mark)]
    return _verdict(registry, equal) if equal else NO_DUPLICATE


def _verdict(registry: Registry, equal: list[TrackedCall]) -> Duplicate:
    match registry.on_duplicate:
        case "attach":
            return Duplicate(same_as=equal[0])
        case "replace":
            return Duplicate(replaces=tuple(call.id for call in equal))
        case "confirm":
            return Duplicate(not_run(f"{_in_flight(equal[0])}; to run this one as well, call it again with {CONFIRM}"))
        case _:
            return Duplicate(not_run(f"{_in_flight(equal[0])}; its result will be delivered by itself"))


def _in_flight(call: TrackedCall) -> str:
    return f"an equal call is in flight: {call.handle or call.provider_id} ({call.name})"


def may_be_equal_to(call: TrackedCall) -> bool:
    """Whether a call is one that a second one may be a duplicate of."""
    return not (call.is_final or call.stopping or call.same_as)
