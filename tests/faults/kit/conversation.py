"""What the model says in a fault run: a plan for each session, and the endpoint that follows it. Plans are pure."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeAlias

from tests.faults.kit.agents import TOOLS, WRAPPED, storm_agents

from errands_orchestrator.testing.strict import Call, Received, Say, StrictEndpoint

_SIZES = ((4, 3, 2, 1), (1, 4, 4, 1), (3, 3, 4), (2, 2, 2, 2, 2), (5, 5))
_SECONDS = (0.02, 0.2, 0.5, 1.0, 2.0, 3.0)
_SLOW_SHARE = 0.15
_WRAPPED_SHARE = 0.35
_NUMBER = re.compile(r"errand (\d+)")


@dataclass(frozen=True, slots=True)
class Planned:
    """One call as the model will ask for it."""

    tool: str
    key: str
    seconds: float = 0.0


Plan: TypeAlias = tuple[tuple[Planned, ...], ...]
"""The calls of a session, answer by answer."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """What a run talks about. Both functions must answer the same whenever they are asked."""

    plan: Callable[[int], Plan]
    """From a session's number."""
    agents: Mapping[str, Mapping[str, object]]
    """Slug -> agent file; sessions take them in turn."""
    pause: Callable[[int, int], float] = lambda number, length: 0.0
    """Seconds that the model takes for a request: from the session's number and the length in messages."""


def storm_scenario(seed: int) -> Scenario:
    """That of a fault run: ten calls of mixed tools a session, and a model that is slow now and then."""
    return Scenario(
        plan=lambda number: plan_of(seed, number),
        agents=storm_agents(),
        pause=lambda number, length: _pause(Random(f"{seed} pause {number} {length}")),
    )


def plan_of(seed: int, number: int) -> Plan:
    """Ten calls, in a few answers."""
    numbers = Random(f"{seed} plan {number}")
    made: list[tuple[Planned, ...]] = []
    for turn, size in enumerate(numbers.choice(_SIZES)):
        keys = [f"k{number}-{turn}-{position}." for position in range(size)]
        made.append(tuple(Planned(_tool(numbers), key, numbers.choice(_SECONDS)) for key in keys))
    return tuple(made)


def _tool(numbers: Random) -> str:
    return numbers.choice(WRAPPED if numbers.random() < _WRAPPED_SHARE else TOOLS)


def first_message(number: int) -> str:
    """What the person says to session `number`."""
    return f"errand {number}"


def number_of(messages: Sequence[Mapping[str, object]]) -> int:
    """Which session a request belongs to. ValueError if it is none of ours."""
    for message in messages:
        if message["role"] == "user" and (found := _NUMBER.match(str(message["content"]))):
            return int(found[1])
    raise ValueError("a request of no session of this run")


class Endpoint:
    """The model: says the next part of the plan to whatever it is asked, and now and then takes its time."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self.strict = StrictEndpoint(self._answer)
        self.sent: dict[int, set[int]] = defaultdict(set)
        """Session -> lengths of the requests that came, in messages."""

    def _answer(self, received: Received) -> Say:
        number = number_of(received.messages)
        length = len(received.messages)
        self.sent[number].add(length)
        pause = self._scenario.pause(number, length)
        plan, turn = self._scenario.plan(number), _turns(received.messages)
        if turn >= len(plan):
            return Say("noted", pause=pause)
        calls = (_call(planned, f"{planned.key}r{received.number}") for planned in plan[turn])
        return Say(f"part {turn}", tuple(calls), pause=pause)

    def is_asked_by(self, orchestrator: str) -> bool:
        """Whether a request of this process is open."""
        return any(entry.outcome == "open" and entry.model == orchestrator for entry in list(self.strict.journal))

    def last_messages(self) -> dict[int, list[dict[str, object]]]:
        """Session -> the messages of its longest request."""
        longest: dict[int, list[dict[str, object]]] = {}
        for entry in self.strict.journal:
            if not entry.refusal:
                number = number_of(entry.messages)
                if len(entry.messages) >= len(longest.get(number, ())):
                    longest[number] = entry.messages
        return longest


def _call(planned: Planned, provider_id: str) -> Call:
    return Call(planned.tool, json.dumps({"key": planned.key, "seconds": planned.seconds}), provider_id)


def _turns(messages: Sequence[Mapping[str, object]]) -> int:
    """How many parts of its plan a session has heard."""
    return sum(bool(message.get("tool_calls")) for message in messages)


def _pause(numbers: Random) -> float:
    return numbers.uniform(2.5, 6) if numbers.random() < _SLOW_SHARE else numbers.uniform(0.01, 0.15)
