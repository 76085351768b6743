"""Any interleaving of launches that name, refer to and equal one another: whatever may run does, in its order."""

from __future__ import annotations

import json
from collections import Counter
from random import Random
from typing import Any

import pytest
from tests.unit.stepper_driver import ANY_PROGRESS, CANCEL, STATUS, WAIT, make_brief
from tests.unit.stepper_play import CRASHES, FINAL, PAUSES, QUESTIONS, Play
from tests.unit.stepper_world import Record

from errands_config.wire import CallState
from errands_orchestrator.brief import Brief
from errands_orchestrator.models.model import ModelCall, Reply

CAPABILITIES = [STATUS, CANCEL, WAIT]
LATER: dict[str, Any] = {"flavor": "OpenAIResponses", "async_tools": True}
BRIEFS = [
    make_brief(slots=3, capabilities=CAPABILITIES, registry={"handles": True, "references": True}),
    make_brief(ANY_PROGRESS, slots=1, registry={"references": True}, onRunEnd="detach"),
    make_brief(slots=2, registry={"references": True, "onDuplicate": "attach"}, capabilities=CAPABILITIES),
    make_brief(ANY_PROGRESS, slots=4, registry={"references": True, "onDuplicate": "replace"}, pauseCancelsCalls=True),
    make_brief(slots=4, registry={"references": True, "onDuplicate": "reject"}, mailInToolResult=True),
    make_brief(slots=3, capabilities=CAPABILITIES, registry={"handles": True, "references": True}, **LATER),
    make_brief(ANY_PROGRESS, slots=2, registry={"references": True, "onDuplicate": "attach"}, **LATER),
]
TOOLS = ["work", "work", "work_too", "two_seconds", "never", "side_gate", "wait"]
HAPPENINGS = [
    *["a call ends"] * 12, *["a worker claims"] * 4, "somebody writes", "time passes", "somebody interrupts",
    "cancelCalls", "a waiting call is cancelled", "outside completes", "outside completes", "leave is given", "pause",
    "resume", "resume",
]  # fmt: skip


class Launches:
    """A model that names its calls, and lets them depend on whatever it has made before or makes beside them."""

    def __init__(self, play: Play, chance: Random) -> None:
        self.play, self.chance = play, chance
        self.names: list[str] = []

    def reply(self) -> Reply:
        names = [f"n{len(self.names) + number}" for number in range(self.chance.choice([0, 1, 2, 3, 5]))]
        calls = [self.call(name, [*self.names, *names]) for name in names]
        self.names += names
        if self.chance.random() < 0.2:
            calls.append(
                self.play.question(
                    self.chance.randrange(8), self.chance.choice(QUESTIONS), wait=self.chance.random() < 0.5
                )
            )
        return Reply("", tuple(calls), "tool_calls")

    def call(self, name: str, others: list[str]) -> ModelCall:
        tool, arguments = self.chance.choice([self.dependent, self.dependent, self.twin, self.repeat])(name, others)
        if self.play.world.brief.agent.registry.handles:
            arguments["task_handle"] = name
        return ModelCall(name, tool, json.dumps(arguments), is_async=self.chance.random() < 0.8)

    def dependent(self, name: str, others: list[str]) -> tuple[str, dict[str, Any]]:
        chance = self.chance
        wanted = chance.sample(others, min(len(others), chance.choice([0, 0, 1, 2])))
        wanted = [other for other in wanted if other != name]
        if wanted and chance.random() < 0.5:
            return chance.choice(TOOLS), {"y": {"$result": wanted[0]}}
        return chance.choice(TOOLS), {"depends_on": wanted} if wanted else {}

    def twin(self, name: str, others: list[str]) -> tuple[str, dict[str, Any]]:
        wanted = self.chance.sample(others, min(len(others), self.chance.choice([0, 0, 1])))
        return "never", {"x": 1} | ({"depends_on": wanted} if wanted else {})

    def repeat(self, name: str, others: list[str]) -> tuple[str, dict[str, Any]]:
        number = self.chance.randrange(4)
        return "work", {"x": number, "idempotency_key": f"k{number}"}


def move(play: Play, model: Launches, chance: Random) -> None:
    crashes = chance.choices(CRASHES, k=3) if chance.random() < 0.3 else []
    if play.owner.asking and chance.random() < 0.5:
        play.reply(model.reply(), crashes, last=chance.random() < 0.3)
        return
    ending = CallState.COMPLETED if chance.random() < 0.9 else chance.choice(FINAL)
    play.happens(chance.choice(HAPPENINGS), chance.randrange(8), ending, chance.choice(PAUSES))
    if chance.random() < 0.8:
        play.goes_on(crashes)


def played(brief: Brief, seed: int) -> dict[str, Record]:
    chance = Random(seed)
    play = Play(brief)
    model = Launches(play, chance)
    for _ in range(80):
        move(play, model, chance)
    play.finish()
    return play.world.records


@pytest.mark.parametrize("brief", BRIEFS, ids=range(len(BRIEFS)))
def test_whatever_waits_for_others_runs_behind_them_or_is_skipped(brief: Brief) -> None:
    seen = Counter[str]()
    for seed in range(20):
        for record in played(brief, seed).values():
            seen["settled"] += record.new.again
            seen["skipped"] += record.state is CallState.SKIPPED
            outcome = record.outcome
            seen["same"] += outcome is not None and "same_as" in outcome.result + outcome.error
            seen["equal"] += outcome is not None and "equal call" in outcome.error
    assert min(seen["settled"], seen["skipped"], seen["same"]) > 10, f"too little happened: {seen}"
    assert seen["equal"] > 10 or brief.agent.registry.on_duplicate != "reject", f"too little happened: {seen}"
