"""A run that is stopped at any point leaves a history that the API takes, and loses nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.unit.stepper_driver import (
    ANY_PROGRESS,
    STATUS,
    Driver,
    call,
    control,
    done,
    finished,
    make_brief,
    notified,
    said,
)

from errands_config.wire import CallState, Outcome
from errands_orchestrator.arrivals import Acquired, AskFailed, Begun, Looked
from errands_orchestrator.decisions import AskModel, Park
from errands_orchestrator.session import Phase

CALLS = (call("work", "a"), call("wait", "b"), call("work_too", "c"), call(STATUS, "d", '{"tool_call_id":"c"}'))
RUNNING = Looked((("c1", CallState.RUNNING), ("c3", CallState.WAITING)))

FLOW: list[Callable[[Driver], object]] = [
    lambda driver: driver.take(AskFailed("server", retryable=True)),
    lambda driver: driver.take(said("are you there?")),
    lambda driver: driver.take(after=500),
    lambda driver: driver.take(driver.answer(*CALLS)),
    lambda driver: driver.take(Acquired()),
    lambda driver: driver.take(Begun("c4", ("c3",), driver.now + 5000)),
    lambda driver: driver.take(notified("c1")),
    lambda driver: driver.take(said("well?")),
    lambda driver: driver.take(finished("c2", done("result of c2"))),
    lambda driver: driver.take(RUNNING),
    lambda driver: driver.bring(),
    lambda driver: driver.take(AskFailed("key", retryable=False)),
    lambda driver: driver.take(finished("c1", done("result of c1"))),
    lambda driver: driver.take(control("resume")),
    lambda driver: driver.take(driver.answer(text="meanwhile")),
    lambda driver: driver.take(driver.answer(call("never", "a"), call("two_seconds", "a"))),
    lambda driver: driver.take(after=2000),
    lambda driver: driver.take(finished("c5", done("result of c5"))),
    lambda driver: driver.bring(),
    lambda driver: driver.take(driver.answer(text="that is it")),
    lambda driver: driver.take(finished("c6", done("result of c6"))),
]


@pytest.mark.parametrize("point", range(len(FLOW) + 1))
def test_a_run_that_is_stopped_at_any_point_answers_the_next_message(point: int) -> None:
    driver = Driver(make_brief(ANY_PROGRESS, slots=1))
    driver.begin_run()
    for move in FLOW[:point]:
        move(driver)
    assert driver.take(control("stopRun"))[-1] == Park("idle")
    assert driver.session.phase is Phase.IDLE
    assert driver.take(said("next"))[-1] == AskModel()
    assert driver.transcript.messages()
    everything_ends(driver)
    assert driver.session.calls == driver.session.inbox == ()
    told = b"".join((driver.transcript.messages(), driver.session.phase.encode()))
    for number in {1, 2, 5, 6} & set(range(driver.minted + 1)):
        assert told.count(b"result of c%d" % number) <= 1


def everything_ends(driver: Driver) -> None:
    open_calls = [tracked.id for tracked in driver.session.calls if not tracked.is_final]
    driver.take(*(finished(call_id, Outcome(state=CallState.CANCELLED)) for call_id in open_calls))
    for _ in range(3):
        if driver.last.decisions[-1] == AskModel():
            driver.take(driver.answer(text="yes", finish="stop"))
    assert driver.last.decisions == (Park("idle"),)


def test_the_flow_is_a_run_to_its_end() -> None:
    driver = Driver(make_brief(ANY_PROGRESS, slots=1))
    driver.begin_run()
    phases: list[tuple[Phase, bool]] = []
    for move in FLOW:
        move(driver)
        phases.append((driver.session.phase, driver.session.is_paused))
    unpaused = {(phase, False) for phase in (Phase.ASKING, Phase.ATTACHED, Phase.RESTING)}
    assert set(phases) == {*unpaused, (Phase.ASKING, True)}
    told = driver.transcript.messages()
    assert all(told.count(b"result of c%d" % number) == 1 for number in (1, 2, 5))
