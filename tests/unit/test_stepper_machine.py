"""Any interleaving of mail, ends, answers, failures, timers and takeovers keeps what the stepper promises.

Played twice: by Hypothesis, which finds small counterexamples, and at random, which goes deep and never changes.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from tests.unit.stepper_driver import (
    ALL_DONE,
    ANY_PROGRESS,
    ASK,
    CANCEL,
    RUNNING,
    STATUS,
    WAIT,
    make_brief,
    yield_on_timeout,
)
from tests.unit.stepper_play import (
    ARGUMENTS,
    CRASHES,
    FAULTS,
    FINAL,
    FINISHES,
    HAPPENINGS,
    IDS,
    NAMES,
    PAUSES,
    QUESTIONS,
    Play,
)
from tests.unit.stepper_world import Crash

from errands_config.wire import CallState
from errands_orchestrator.brief import Brief
from errands_orchestrator.models.model import Finish, ModelCall, Reply
from errands_orchestrator.turn import RECORDS_A_STEP

SPECIAL = [
    make_brief(ANY_PROGRESS, slots=2, onRunEnd="cancel", mailInToolResult=True),
    make_brief(slots=2, onRunEnd="detach", onRunFailure="keep", interruptCompletions=True),
    make_brief(ANY_PROGRESS, slots=1, pauseCancelsCalls=True, resumeOnAnyMail=True, capabilities=[STATUS, CANCEL]),
    make_brief(ANY_PROGRESS, slots=2, capabilities=[STATUS, CANCEL, ASK, WAIT]),
    make_brief(ANY_PROGRESS, slots=3, mailInToolResult=True, delivery={"maxItems": 1}),
    make_brief(slots=3, capabilities=[STATUS, CANCEL, WAIT], delivery={"maxItems": 2, "maxBytes": 150}),
    make_brief(ANY_PROGRESS, slots=3, capabilities=[STATUS, CANCEL, WAIT], delivery={"style": "event", "maxItems": 3}),
    make_brief(ANY_PROGRESS, slots=2, registry={"references": True}),
    make_brief(slots=3, registry={"handles": True, "references": True, "onDuplicate": "attach"}),
    make_brief(ANY_PROGRESS, slots=3, registry={"onDuplicate": "replace", "duplicateScope": "name"}),
    make_brief(slots=2, onRunEnd="detach", registry={"onDuplicate": "confirm", "references": True}),
    make_brief(ANY_PROGRESS, slots=3, interruptCompletions=True, registry={"digest": True}),
    make_brief(ANY_PROGRESS, slots=3, capabilities=[STATUS, CANCEL], delivery={"compactAfterTurns": 1}),
    make_brief(mode="synchronous", mailInToolResult=True, interruptCompletions=True, onRunEnd="cancel"),
]
LATER: dict[str, Any] = {"flavor": "OpenAIResponses"}
ALL_AT_ONCE: dict[str, Any] = {
    "mailInToolResult": True,
    "interruptCompletions": True,
    "capabilities": [STATUS, RUNNING, CANCEL, ASK, WAIT],
    "registry": {"digest": True, "handles": True, "references": True, "onDuplicate": "attach"},
}
ONE_BY_ONE = {"compactAfterTurns": 1, "maxItems": 1}
TOGETHER = [
    make_brief(ANY_PROGRESS, slots=3, delivery=ONE_BY_ONE, **ALL_AT_ONCE),
    make_brief(ANY_PROGRESS, slots=3, delivery=ONE_BY_ONE, async_tools=True, **ALL_AT_ONCE, **LATER),
    make_brief(slots=3, delivery={"style": "event", **ONE_BY_ONE}, async_tools=True, **ALL_AT_ONCE, **LATER),
]
RESPONSES = [
    make_brief(ANY_PROGRESS, slots=2, capabilities=[STATUS, CANCEL, ASK, WAIT], async_tools=True, **LATER),
    make_brief(slots=3, capabilities=[STATUS, RUNNING, CANCEL, WAIT], async_tools=True, **LATER),
    make_brief(slots=2, onRunEnd="detach", onRunFailure="keep", interruptCompletions=True, async_tools=True, **LATER),
    make_brief(ANY_PROGRESS, onRunEnd="cancel", mailInToolResult=True, async_tools=True, **LATER),
    make_brief(yield_on_timeout(3000), registry={"handles": True, "onDuplicate": "attach"}, async_tools=True, **LATER),
    make_brief(ANY_PROGRESS, slots=2, capabilities=[STATUS, CANCEL, ASK, WAIT], **LATER),
    make_brief(ANY_PROGRESS, slots=3, delivery={"maxItems": 1}, registry={"digest": True}, async_tools=True, **LATER),
    make_brief(slots=3, delivery={"style": "event", "maxItems": 2, "maxBytes": 150}, async_tools=True, **LATER),
    make_brief(mode="synchronous", async_tools=True, **LATER),
    make_brief(ANY_PROGRESS, slots=3, delivery={"compactAfterTurns": 1, "maxItems": 1}, async_tools=True, **LATER),
]
BRIEFS: list[Brief] = [*SPECIAL, *RESPONSES, *TOGETHER] + [
    make_brief(strategy, mode=mode, slots=slots, capabilities=capabilities)
    for strategy in (ALL_DONE, ANY_PROGRESS, yield_on_timeout(3000))
    for mode in ("asynchronous", "synchronous")
    for slots in (1, 3)
    for capabilities in ([STATUS, RUNNING, CANCEL, WAIT], [])
    if mode == "asynchronous" or slots == 1
]

DEATHS: st.SearchStrategy[list[Crash]] = st.lists(st.sampled_from(CRASHES), max_size=3)
CALLS = st.builds(ModelCall, st.sampled_from(IDS), st.sampled_from(NAMES), st.sampled_from(ARGUMENTS), st.booleans())
PICK = st.integers(0, 7)
is_asking = precondition(lambda machine: machine.play.owner.asking)


class AnyInterleaving(RuleBasedStateMachine):
    """One session, its workers, and owners that come and go."""

    @initialize(brief=st.sampled_from(BRIEFS))
    def begin(self, brief: Brief) -> None:
        self.play = Play(brief)

    @rule(
        what=st.sampled_from(HAPPENINGS),
        pick=PICK,
        state=st.sampled_from(FINAL),
        milliseconds=st.sampled_from(PAUSES),
        crashes=st.none() | DEATHS,
    )
    def something_happens(
        self, what: str, pick: int, state: CallState, milliseconds: int, crashes: list[Crash] | None
    ) -> None:
        self.play.happens(what, pick, state, milliseconds)
        if crashes is not None:
            self.play.goes_on(crashes)

    @is_asking
    @rule(calls=st.lists(CALLS, min_size=1, max_size=3), finish=st.sampled_from(FINISHES), crashes=DEATHS)
    def the_model_calls(self, calls: list[ModelCall], finish: Finish, crashes: list[Crash]) -> None:
        self.play.reply(Reply("", tuple(calls), finish), crashes)

    @is_asking
    @rule(pick=PICK, name=st.sampled_from(QUESTIONS), wait=st.booleans(), others=st.lists(CALLS, max_size=1))
    def the_model_asks_about_a_call(self, pick: int, name: str, wait: bool, others: list[ModelCall]) -> None:
        self.play.reply(Reply("", (self.play.question(pick, name, wait=wait), *others), "tool_calls"))

    @is_asking
    @rule(text=st.sampled_from(["", "done"]), last=st.booleans(), crashes=DEATHS)
    def the_model_ends_its_turn(self, text: str, last: bool, crashes: list[Crash]) -> None:
        self.play.reply(Reply(text), crashes, last=last)

    @is_asking
    @rule(fault=st.sampled_from(FAULTS), crashes=DEATHS)
    def the_request_fails(self, fault: str, crashes: list[Crash]) -> None:
        self.play.fail(fault, crashes)

    def teardown(self) -> None:
        """Everything ends."""
        if hasattr(self, "play"):
            self.play.finish()


AnyInterleaving.TestCase.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
TestAnyInterleaving = AnyInterleaving.TestCase


# ---- at random -------------------------------------------------------------------------------------------------


def random_call(chance: Random) -> ModelCall:
    is_async = chance.random() < 0.8
    return ModelCall(chance.choice(IDS), chance.choice(NAMES), chance.choice(ARGUMENTS), is_async)


def random_reply(play: Play, chance: Random) -> Reply:
    calls = [random_call(chance) for _ in range(chance.choice([0, 0, 1, 2, 3]))]
    if chance.random() < 0.3:
        calls.append(play.question(chance.randrange(8), chance.choice(QUESTIONS), wait=chance.random() < 0.5))
    return Reply(chance.choice(["", "well"]), tuple(calls), chance.choice(FINISHES))


def random_move(play: Play, chance: Random) -> None:
    crashes = chance.choices(CRASHES, k=3) if chance.random() < 0.3 else []
    if play.owner.asking and chance.random() < 0.6:
        if chance.random() < 0.15:
            play.fail(chance.choice(FAULTS), crashes)
        else:
            play.reply(random_reply(play, chance), crashes, last=chance.random() < 0.3)
        return
    play.happens(chance.choice(HAPPENINGS), chance.randrange(8), chance.choice(FINAL), chance.choice(PAUSES))
    if chance.random() < 0.8:
        play.goes_on(crashes)


@pytest.mark.parametrize("brief", BRIEFS, ids=range(len(BRIEFS)))
def test_a_hundred_moves_at_random(brief: Brief) -> None:
    for seed in range(20):
        chance = Random(seed)
        play = Play(brief)
        for _ in range(100):
            random_move(play, chance)
        play.finish()


@pytest.mark.parametrize("tool", ["wait", "work", "never"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("more", [{}, LATER | {"async_tools": True}], ids=["chat", "responses"])
def test_a_turn_of_more_calls_than_a_commit_takes(tool: str, seed: int, more: dict[str, Any]) -> None:
    chance = Random(seed)
    play = Play(make_brief(chance.choice([ALL_DONE, ANY_PROGRESS]), slots=chance.choice([2, 200]), **more))
    calls = [ModelCall("a", tool, "{}", is_async=True)] * (RECORDS_A_STEP + 5)
    calls += [play.question(0, STATUS, wait=True)] * (seed % 2)
    play.reply(Reply("", tuple(calls), "tool_calls"), chance.choices(CRASHES, k=3))
    for _ in range(20):
        random_move(play, chance)
    play.finish()
