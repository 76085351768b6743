"""What the clerk does about a deferred call, by the seed: an answer, the same twice, two that differ, or a cancel."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tests.faults.kit.answers import Verb

from errands_orchestrator.pending import DeferralKind

_ENDING: tuple[Verb, ...] = ("complete", "complete", "complete", "fail", "deny")
_WORDS = {"complete": "effect", "fail": "failed", "deny": "denied"}
_LATEST_SECONDS = (0.5, 3.0, 12.0)
"""Some calls wait for longer than it takes to find out that a worker is lost."""
_APART_SECONDS = (0.0, 0.0, 0.02, 0.6)
_CANCEL_SECONDS = (-0.6, -0.02, -0.005, 0.0, 0.6)
"""A cancel reads before it writes: it wins a race in which it is ahead a little."""


@dataclass(frozen=True, slots=True)
class Deed:
    """One thing to do. `after`: seconds from when the call was seen; `text`: what the model is to read."""

    verb: Verb
    after: float
    text: str = ""
    by_token: bool = True


def deeds(seed: str, key: str, kind: DeferralKind) -> tuple[Deed, ...]:
    """What is done about the call with this key. Whatever comes first ends it, or has it run."""
    numbers = Random(f"{seed} clerk {key}")
    verbs = _ENDING if kind == "tool" else (*_ENDING, "approve", "approve", "approve")
    after = numbers.uniform(0, numbers.choice(_LATEST_SECONDS))
    first = _deed(numbers, numbers.choice(verbs), after, f"{key} first")
    apart = after + numbers.choice(_APART_SECONDS)
    match numbers.choice(("once", "once", "twice", "otherwise", "cancelled")):
        case "twice":
            return first, _deed(numbers, first.verb, apart, f"{key} first")
        case "otherwise":
            return first, _deed(numbers, numbers.choice(verbs), apart, f"{key} second")
        case "cancelled":
            return first, Deed("cancel", max(0.0, after + numbers.choice(_CANCEL_SECONDS)))
        case _:
            return (first,)


def _deed(numbers: Random, verb: Verb, after: float, what: str) -> Deed:
    text = f"{_WORDS[verb]} {what}" if verb in _WORDS else ""
    return Deed(verb, after, text, by_token=verb == "approve" or numbers.random() < 0.5)
