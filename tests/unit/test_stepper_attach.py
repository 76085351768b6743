"""When a step hands back to the model: yield strategies, groups of calls, mail, the waits of capabilities."""

from __future__ import annotations

import json

import pytest
from tests.unit.stepper_driver import (
    ALL_DONE,
    ANY_PROGRESS,
    START,
    STATUS,
    Driver,
    call,
    done,
    finished,
    make_brief,
    notified,
    said,
    yield_on_timeout,
)

from errands_config.wire import CallState, Outcome
from errands_orchestrator.arrivals import Answered
from errands_orchestrator.decisions import AskModel, Decision, Look, Queue, Wait
from errands_orchestrator.session import Phase

ON_TIMEOUT = yield_on_timeout(3000)
LATER = START + 60_000


def attached(strategy: object, *tools: str, slots: int = 9) -> Driver:
    """A turn of these tools, registered at START."""
    driver = Driver(make_brief(strategy, slots=slots))
    driver.begin_run()
    driver.reply(*(call(tool, f"p{number}") for number, tool in enumerate(tools, 1)))
    return driver


def waits(decisions: tuple[Decision, ...]) -> bool:
    return isinstance(decisions[-1], Wait)


# Of a turn of these tools, the fewest ends after which the step hands back; "@n" stands for n ms without any news.
HAND_BACK = [
    (ALL_DONE, "work", "1"),
    (ALL_DONE, "work work_too", "12"),
    (ALL_DONE, "wait work", "12"),
    (ALL_DONE, "wait wait_too", "12"),
    (ALL_DONE, "two_seconds", "1"),
    (ALL_DONE, "two_seconds", "@2000"),
    (ALL_DONE, "two_seconds work", "2 @2000"),
    (ALL_DONE, "never", "@0"),
    (ALL_DONE, "never work", "2"),
    (ALL_DONE, "never wait", "2"),
    (ANY_PROGRESS, "work work_too", "1"),
    (ANY_PROGRESS, "work work_too", "2"),
    (ANY_PROGRESS, "wait work", "12"),
    (ANY_PROGRESS, "wait two_seconds", "1 @2000"),
    (ANY_PROGRESS, "two_seconds work", "2 @2000"),
    (ANY_PROGRESS, "two_seconds work", "12"),
    (ANY_PROGRESS, "wait", "1"),
    (ANY_PROGRESS, "never", "@0"),
    (ON_TIMEOUT, "work work_too", "1"),
    (ON_TIMEOUT, "work work_too", "@3000"),
    (ON_TIMEOUT, "wait work", "1 @3000"),
    (ON_TIMEOUT, "wait work", "21"),
    (ON_TIMEOUT, "two_seconds work", "@3000"),
    (ON_TIMEOUT, "two_seconds work", "2 @2000"),
    (ON_TIMEOUT, "wait", "1"),
]


@pytest.mark.parametrize(("strategy", "tools", "until"), HAND_BACK)
def test_a_step_hands_back_at_the_last_of_what_it_waits_for(strategy: object, tools: str, until: str) -> None:
    driver = attached(strategy, *tools.split())
    ends, _, pause = until.partition("@")
    for end in ends.strip():
        assert waits(driver.last.decisions)
        driver.take(finished(f"c{end}"))
    if pause and int(pause):
        assert driver.last.decisions[-1] == Wait(START + int(pause)) or driver.last.decisions[-1] == Wait(START + 2000)
        assert waits(driver.take(after=int(pause) - 1))
        driver.take(after=1)
    assert not waits(driver.last.decisions)
    if any(isinstance(decision, Look) for decision in driver.last.decisions):
        driver.bring()
    assert driver.last.decisions[-1] == AskModel()
    assert len(driver.tool_messages) == len(tools.split())


def test_a_timer_that_is_over_while_something_else_is_waited_for_wakes_nobody_again() -> None:
    driver = attached(ON_TIMEOUT, "wait", "work", "two_seconds")
    assert driver.last.decisions[-1] == Wait(START + 2000)
    assert driver.take(after=2000) == (Wait(START + 3000),)
    assert driver.take(after=1000) == (Wait(None),)


def test_what_was_collected_for_one_hand_back_is_not_kept_for_the_next() -> None:
    driver = attached(ANY_PROGRESS, "never")
    assert driver.session.handing_back
    driver.bring()
    assert (driver.session.handing_back, driver.session.looked) == (False, ())


@pytest.mark.parametrize("strategy", [ALL_DONE, ANY_PROGRESS, ON_TIMEOUT])
@pytest.mark.parametrize(("tool", "lets_go"), [("wait", False), ("work", True), ("two_seconds", True)])
def test_a_person_is_heard_at_once_unless_a_run_sync_call_is_open(strategy: object, tool: str, lets_go: bool) -> None:
    driver = attached(strategy, tool)
    decisions = driver.take(said("stop that"))
    if not lets_go:
        assert waits(decisions)
        driver.take(finished("c1"))
    else:
        assert decisions == (Look(("c1",)),)
        driver.bring()
        assert json.loads(driver.tool_messages[0].text)["detached"] == "interrupted"
    assert driver.user_text == "stop that"


def test_what_a_person_interrupts_still_waits_for_the_run_sync_call_beside_it() -> None:
    driver = attached(ALL_DONE, "wait", "work", "work_too")
    assert waits(driver.take(said("well?")))
    driver.take(finished("c3", done("in time")))
    driver.take(finished("c1"))
    driver.bring()
    assert [message.placeholder for message in driver.tool_messages] == [False, True, False]


@pytest.mark.parametrize("strategy", [ALL_DONE, ANY_PROGRESS, ON_TIMEOUT])
def test_a_notify_detaches_nothing_and_is_told_when_the_step_hands_back(strategy: object) -> None:
    driver = attached(strategy, "work")
    assert waits(driver.take(notified("c1", "half way")))
    driver.take(finished("c1"))
    assert driver.user_text.endswith("half way")
    assert not driver.tool_messages[0].placeholder


@pytest.mark.parametrize(("strategy", "counts"), [(ALL_DONE, False), (ANY_PROGRESS, True), (ON_TIMEOUT, True)])
def test_the_end_of_an_earlier_call_counts_as_the_first_of_the_group(strategy: object, counts: bool) -> None:
    driver = attached(strategy, "never")
    driver.bring()
    driver.reply(call("work", "q"))
    assert waits(driver.last.decisions)
    decisions = driver.take(finished("c1"))
    assert decisions == ((Look(("c2",)),) if counts else (Wait(None),))


def test_the_end_of_an_earlier_call_that_the_model_read_does_not_count() -> None:
    driver = attached(ANY_PROGRESS, "never")
    driver.bring()
    driver.reply(call(STATUS, "q", '{"tool_call_id":"p1"}'))
    driver.take(finished("c1"))
    driver.take(Answered("c2", "{}", read=("c1",)))
    driver.reply(call("work", "r"))
    # its notice went along with the request, so nothing of it is left
    assert driver.session.calls == (driver.tracked("c3"),)
    assert driver.last.decisions == (Queue(("c3",)), Wait(None))


def test_a_detached_call_says_why_in_its_placeholder() -> None:
    driver = attached(ALL_DONE, "two_seconds")
    driver.take(after=2000)
    driver.bring(c1=CallState.WAITING)
    shown = json.loads(driver.tool_messages[0].text)
    assert (shown["status"], shown["detached"]) == ("pending", "still running after 2s")


def test_a_call_that_detached_but_ended_before_the_step_handed_back_shows_its_result() -> None:
    driver = attached(ALL_DONE, "two_seconds", "wait")
    driver.take(after=2000)
    driver.take(finished("c1", done("just in time")))
    driver.take(finished("c2"))
    assert driver.tool_messages[0].text == "just in time"


def test_the_first_answer_of_a_call_with_attach_seconds_zero_never_holds_data() -> None:
    driver = attached(ALL_DONE, "never", "wait")
    driver.take(finished("c1", done("data")))
    driver.take(finished("c2"))
    assert json.loads(driver.tool_messages[0].text)["status"] == "running"
    assert driver.user_text.endswith("tool_call_id p1 (never) completed:\ndata")
    assert driver.session.calls == ()


def test_a_refused_call_with_attach_seconds_zero_is_told_at_once() -> None:
    driver = Driver(make_brief(ALL_DONE))
    driver.begin_run()
    assert driver.reply(call("never", arguments='{"x":"no"}')) == (AskModel(),)
    assert driver.tool_messages[0].text.startswith("invalid arguments: ")


def test_run_sync_calls_run_one_after_another_and_background_calls_beside_them() -> None:
    driver = attached(ALL_DONE, "wait", "work", "wait_too", "work_too")
    assert driver.last.decisions == (Queue(("c1", "c2", "c4")), Wait(None))
    assert driver.take(finished("c2")) == (Wait(None),)
    assert driver.take(finished("c1")) == (Queue(("c3",)), Wait(None))


def test_a_failed_run_sync_call_does_not_hold_up_the_next() -> None:
    driver = attached(ALL_DONE, "wait", "wait_too")
    assert driver.take(finished("c1", Outcome(state=CallState.FAILED, error="x"))) == (Queue(("c2",)), Wait(None))


def test_in_synchronous_mode_every_call_runs_in_call_order() -> None:
    driver = Driver(make_brief(ANY_PROGRESS, mode="synchronous"))
    driver.begin_run()
    assert driver.reply(call("work", "p"), call("never", "q"), call("wait", "r")) == (Queue(("c1",)), Wait(None))
    assert driver.take(notified("c1"), said("hurry")) == (Wait(None),)
    assert driver.take(finished("c1")) == (Queue(("c2",)), Wait(None))
    assert driver.take(finished("c2")) == (Queue(("c3",)), Wait(None))
    assert driver.take(finished("c3")) == (AskModel(),)
    assert driver.user_text == "hurry"


def test_background_calls_take_the_slots_in_the_order_in_which_they_were_made() -> None:
    driver = attached(ANY_PROGRESS, "work", "work_too", "two_seconds", "never", slots=2)
    assert driver.last.decisions[0] == Queue(("c1", "c2"))
    assert driver.take(finished("c2"))[0] == Queue(("c3",))
    driver.take(after=2000)
    driver.bring()
    assert driver.session.phase is Phase.ASKING
    assert driver.take(finished("c1")) == (Queue(("c4",)), AskModel())


def test_a_resting_session_waits_for_all_under_yield_when_all_done_and_for_the_first_else() -> None:
    for strategy in (ALL_DONE, ANY_PROGRESS):
        driver = attached(strategy, "never", "never")
        driver.bring()
        assert driver.reply(text="meanwhile", finish="stop") == (Wait(None),)
        assert driver.session.phase is Phase.RESTING
        if strategy == ALL_DONE:
            assert driver.take(finished("c2")) == (Wait(None),)
            assert driver.take(finished("c1")) == (AskModel(),)
            assert driver.user_text.index("p2") < driver.user_text.index("p1")
        else:
            assert driver.take(finished("c2")) == (AskModel(),)


@pytest.mark.parametrize("news", [said("hey"), notified("c1")])
def test_mail_ends_a_rest_at_once(news: object) -> None:
    driver = attached(ALL_DONE, "never")
    driver.bring()
    driver.reply(text="meanwhile", finish="stop")
    assert driver.take(news) == (AskModel(),)  # pyright: ignore[reportArgumentType]
