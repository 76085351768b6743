"""Calls that wait for somebody outside: what a step waits for, what the model sees, and when a run is blocked."""

from __future__ import annotations

import json

import pytest
from tests.unit.stepper_driver import (
    ALL_DONE,
    ANY_PROGRESS,
    ASK,
    Driver,
    call,
    control,
    done,
    finished,
    mail,
    make_brief,
    moved,
    said,
    yield_on_timeout,
)

from errands_config.agent import parse_agent
from errands_config.policy import compile_policy
from errands_config.wire import CallPolicy, CallState, Outcome
from errands_orchestrator.arrivals import Acquired
from errands_orchestrator.decisions import AskModel, Cancel, Look, Park, Queue, Wait
from errands_orchestrator.session import NewCall, Phase

DENIED = Outcome(state=CallState.DENIED, error="not on a Friday")
BLOCKED = (Wait(None, outside=True),)


def working(*calls: str, **agent: object) -> Driver:
    """A driver whose model has called these tools, each under an id of its own."""
    driver = Driver(make_brief(**agent))  # pyright: ignore[reportArgumentType]
    driver.begin_run()
    driver.reply(*(call(tool, f"p{number}") for number, tool in enumerate(calls, 1)))
    return driver


def recorded(driver: Driver) -> NewCall:
    [record] = driver.last.records
    return record


def handed_over(driver: Driver) -> dict[str, str]:
    """The placeholder of the newest turn's only call, once states were looked up."""
    return json.loads(driver.tool_messages[-1].text)


# ---- the disposition


def test_a_deferred_call_is_recorded_with_its_terms_and_not_published() -> None:
    driver = working("gate")

    assert recorded(driver).deferral is not None
    assert recorded(driver).deferral.reason == "somebody has to agree"  # type: ignore[union-attr]
    assert driver.last.decisions == BLOCKED
    assert driver.tracked("c1").state is CallState.DEFERRED


def test_a_run_that_only_waits_for_somebody_outside_says_so_once() -> None:
    driver = working("gate", "gate")

    assert driver.events == ["turn.completed", "run.blocked"]
    assert driver.take(finished("c1")) == BLOCKED
    assert driver.events == []


def test_whoever_goes_on_with_a_blocked_run_is_told_again() -> None:
    driver = working("gate")

    assert driver.take(control("resume")) == BLOCKED
    assert driver.events == ["run.blocked"]


def test_the_turn_goes_to_the_model_once_somebody_outside_has_completed_it() -> None:
    driver = working("gate", "gate")
    driver.take(finished("c2", done("second")))

    assert driver.take(finished("c1", DENIED)) == (AskModel(),)
    assert [message.text for message in driver.tool_messages] == ["not on a Friday", "second"]
    assert not driver.session.blocked


def test_a_deferred_call_keeps_no_run_sync_call_of_its_turn_from_running() -> None:
    driver = working("gate", "wait", "wait_too")
    assert driver.last.decisions == (Queue(("c2",)), Wait(None))
    assert driver.events == ["turn.completed"]

    assert driver.take(finished("c2")) == (Queue(("c3",)), Wait(None))
    assert driver.take(finished("c3")) == BLOCKED


def test_a_deferred_call_holds_no_slot() -> None:
    driver = working("gate", "work", "work_too", slots=2)

    assert driver.last.decisions[0] == Queue(("c2", "c3"))


def test_a_run_with_other_calls_in_flight_is_not_blocked() -> None:
    driver = working("gate", "work")

    assert driver.last.decisions == (Queue(("c2",)), Wait(None))
    assert driver.take(finished("c2")) == BLOCKED


def test_a_person_is_heard_while_somebody_outside_is_waited_for() -> None:
    driver = working("gate")

    assert driver.take(said("never mind")) == (Look(("c1",)),)
    assert driver.bring(c1=CallState.DEFERRED) == (AskModel(),)
    assert (handed_over(driver)["status"], handed_over(driver)["detached"]) == ("deferred", "interrupted")


def test_what_comes_of_it_later_is_a_notice() -> None:
    driver = working("gate")
    driver.take(said("never mind"))
    driver.bring(c1=CallState.DEFERRED)
    assert driver.reply(text="fine, I go on") == BLOCKED

    assert driver.take(finished("c1", DENIED)) == (AskModel(),)
    assert driver.user_text.endswith("tool_call_id p1 (gate) denied:\nnot on a Friday")


# ---- the model goes on meanwhile


def test_a_call_that_is_not_attached_gets_its_placeholder_at_once() -> None:
    driver = working("side_gate")
    assert driver.last.decisions == (Look(("c1",)),)

    assert driver.bring(c1=CallState.DEFERRED) == (AskModel(),)
    assert handed_over(driver) == {
        "status": "deferred",
        "message": handed_over(driver)["message"],
        "tool_call_id": "p1",
        "detached": "waiting for outside",
    }
    assert driver.reply(text="it is asked for") == BLOCKED


@pytest.mark.parametrize("strategy", [ALL_DONE, ANY_PROGRESS, yield_on_timeout(100)])
def test_results_of_other_calls_are_not_held_back_by_one_that_waits_for_somebody(strategy: object) -> None:
    driver = working("side_gate", "never", strategy=strategy)
    driver.bring(c1=CallState.DEFERRED)
    driver.reply(text="both are on their way")

    assert driver.take(finished("c2", done("the other"))) == (AskModel(),)
    assert "the other" in driver.user_text


# ---- deferred while it ran


@pytest.mark.parametrize("tool", ["wait", "work", "two_seconds"])
def test_a_call_that_is_deferred_while_it_runs_is_waited_for_like_any(tool: str) -> None:
    driver = working(tool)

    driver.take(moved("toolCallDeferred", "c1"), after=1)

    assert driver.last.decisions == (BLOCKED if tool != "two_seconds" else (Wait(driver.tracked("c1").attach_until),))
    assert driver.take(finished("c1")) == (AskModel(),)


def test_its_slot_is_free_for_the_next() -> None:
    driver = working("work", "work_too", slots=1)

    assert driver.take(moved("toolCallDeferred", "c1")) == (Queue(("c2",)), Wait(None))


def test_a_call_with_leave_to_run_is_in_flight_again() -> None:
    driver = working("work")
    driver.take(moved("toolCallDeferred", "c1"))

    assert driver.take(moved("toolCallApproved", "c1")) == (Wait(None),)
    assert driver.tracked("c1").state is CallState.QUEUED
    assert not driver.session.blocked


def test_news_of_a_call_that_has_ended_move_it_no_more() -> None:
    driver = working("work", "work_too")
    driver.take(finished("c1"))

    driver.take(moved("toolCallDeferred", "c1"), moved("toolCallDeferred", "stranger"))

    assert driver.tracked("c1").state is CallState.COMPLETED


def test_being_deferred_resumes_no_paused_session() -> None:
    driver = working("work", resumeOnAnyMail=True)
    driver.take(control("pause"))

    assert driver.take(moved("toolCallDeferred", "c1")) == (Park("paused"),)


# ---- ends


def test_a_stopped_run_leaves_alone_what_somebody_outside_may_be_at() -> None:
    driver = working("gate", "work")

    assert driver.take(control("stopRun")) == (Cancel(("c2",), "run cancelled", "user"), Park("idle"))
    driver.take(finished("c2", Outcome(state=CallState.CANCELLED)), finished("c1", done("agreed")))
    assert driver.take(said("and?")) == (AskModel(),)
    assert "agreed" in driver.user_text


def test_a_run_that_cancels_at_its_end_cancels_deferred_calls_too() -> None:
    driver = working("side_gate", onRunEnd="cancel")
    driver.bring(c1=CallState.DEFERRED)

    assert driver.reply(text="bye") == (Cancel(("c1",), "run ended", "system"), Park("idle"))


def test_a_run_that_detaches_ends_while_somebody_outside_is_at_it() -> None:
    driver = working("side_gate", onRunEnd="detach")
    driver.bring(c1=CallState.DEFERRED)

    assert driver.reply(text="bye") == (Park("idle"),)
    assert driver.events == ["turn.completed", "run.ended"]


def test_a_synchronous_agent_defers_nothing() -> None:
    driver = working("gate", mode="synchronous")

    assert recorded(driver).deferral is None
    assert driver.last.decisions == (Queue(("c1",)), Wait(None))


# ---- questions to the user


def asking(arguments: str = '{"question":"Which one?"}', *others: str) -> Driver:
    driver = Driver(make_brief(capabilities=[ASK]))
    driver.begin_run()
    driver.reply(call(ASK, "q1", arguments), *(call(tool, tool) for tool in others))
    return driver


def test_a_question_is_recorded_and_the_model_goes_on() -> None:
    driver = asking()

    assert (recorded(driver).tool, recorded(driver).arguments) == (ASK, '{"question":"Which one?"}')
    assert recorded(driver).deferral.kind == "question"  # type: ignore[union-attr]
    assert driver.bring(c1=CallState.DEFERRED) == (AskModel(),)
    assert handed_over(driver)["status"] == "deferred"


def test_a_question_waits_as_long_as_the_model_says() -> None:
    driver = asking('{"question":"Which one?","timeout_seconds":60}')

    assert recorded(driver).deferral.expires_seconds == 60  # type: ignore[union-attr]


def test_a_question_that_cannot_be_read_is_refused() -> None:
    driver = asking('{"question":7}')

    assert recorded(driver).outcome is not None
    assert driver.tool_messages[0].text.startswith("invalid arguments:")


def test_an_answer_is_told_like_any_result() -> None:
    driver = asking()
    driver.bring(c1=CallState.DEFERRED)
    driver.reply(text="I asked")

    driver.take(finished("c1", Outcome(state=CallState.COMPLETED, result='{"answered":true,"answer":"a"}')))

    assert driver.user_text.endswith('tool_call_id q1 (ask-user) completed:\n{"answered":true,"answer":"a"}')


def test_an_answer_that_came_too_late_is_mail_and_counts_against_no_bound() -> None:
    driver = asking()
    driver.bring(c1=CallState.DEFERRED)
    driver.reply(text="I asked")
    driver.take(finished("c1"))
    driver.reply(text="well then")
    assert driver.session.phase is Phase.IDLE
    heard = driver.session.heard

    driver.take(mail("continuationResult", "Late answer: a", call="c1"), said("go on"))

    assert "from user]\nLate answer: a" in driver.user_text
    assert driver.session.heard == heard + 1


def test_a_new_owner_finds_a_blocked_run_as_it_was() -> None:
    driver = working("gate")

    assert driver.take(Acquired()) == BLOCKED
    assert not driver.last.changed


def test_what_stands_around_a_call_comes_back_from_its_record() -> None:
    wrappers = [{"match": {}, "decorators": [{"tag": "retries", "count": 1}, {"tag": "timeout", "seconds": 3}]}]
    rules = {"default": {"tag": "runSync"}, "rules": [], "wrappers": wrappers}
    policy = compile_policy(parse_agent(json.dumps({"slug": "a", "toolCallPolicyConfig": rules}), origin="a test"))
    call_policy = policy.resolve("work", {})

    written = call_policy.model_dump_json(exclude_defaults=True)

    assert [it.tag for it in call_policy.around] == ["retries", "timeout"]
    assert CallPolicy.model_validate_json(written) == call_policy
