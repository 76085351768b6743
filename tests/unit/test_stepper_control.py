"""Control mail: pausing, going on, stepping, and cancelling calls without ending the run."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.stepper_driver import (
    ANY_PROGRESS,
    STATUS,
    Driver,
    call,
    control,
    done,
    finished,
    interrupted,
    mail,
    make_brief,
    notified,
    said,
)

from errands_config.wire import CallState, Outcome
from errands_orchestrator.arrivals import Acquired, AskFailed, Begun
from errands_orchestrator.control import PAUSED_BY_USER, STEPPED, set_aside
from errands_orchestrator.decisions import AskModel, Cancel, Park, Queue, Wait
from errands_orchestrator.session import Phase, Session
from errands_orchestrator.turn import RECORDS_A_STEP

CANCELLED = Outcome(state=CallState.CANCELLED)


def working(*calls: str, **agent: object) -> Driver:
    """A driver whose model has called these tools, each under an id of its own."""
    driver = Driver(make_brief(**agent))  # pyright: ignore[reportArgumentType]
    driver.begin_run()
    driver.reply(*(call(tool, f"p{number}") for number, tool in enumerate(calls, 1)))
    return driver


# ---- pause and resume


def test_a_pause_ends_the_request_and_resume_sends_it_again() -> None:
    driver = Driver()
    assert driver.begin_run() == (AskModel(),)
    assert driver.take(control("pause")) == (Park("paused"),)
    assert (driver.session.cause, driver.events) == (PAUSED_BY_USER, ["run.paused"])
    assert driver.take(control("resume")) == (AskModel(),)
    assert (driver.events, driver.last.log) == (["run.resumed", "turn.restarted"], ())


def test_a_paused_session_hands_nothing_back_until_it_is_resumed() -> None:
    driver = working("work")
    driver.take(control("pause"))
    assert driver.take(finished("c1"), said("well?")) == (Park("paused"),)
    assert driver.last.log == ()
    assert driver.take(control("resume")) == (AskModel(),)
    assert (driver.tool_messages[0].text, driver.user_text) == ("fine", "well?")


def test_the_calls_of_a_paused_session_go_on_and_take_free_slots() -> None:
    driver = working("work", "work_too", slots=1)
    assert driver.take(control("pause")) == (Park("paused"),)
    assert driver.take(finished("c1")) == (Queue(("c2",)), Park("paused"))


def test_a_pause_cancels_attached_calls_where_the_agent_says_so_and_no_others() -> None:
    driver = working("never", strategy=ANY_PROGRESS, pauseCancelsCalls=True)
    driver.bring()
    driver.reply(call("work", "p2"))
    assert driver.take(control("pause")) == (Cancel(("c2",), "session paused", "user"), Park("paused"))


def test_a_second_pause_keeps_the_first_cause() -> None:
    driver = Driver()
    driver.begin_run()
    driver.take(AskFailed("wrong key", retryable=False))
    assert driver.take(control("pause")) == (Park("paused"),)
    assert (driver.session.cause, driver.events) == ("wrong key", [])


def test_a_session_that_is_paused_between_runs_begins_none_until_it_is_resumed() -> None:
    driver = Driver()
    assert driver.take(control("pause"), said("hello")) == (Park("paused"),)
    assert driver.take(control("resume")) == (AskModel(),)
    assert driver.events == ["run.resumed", "run.started", "turn.started"]


def test_stopping_a_paused_run_ends_it() -> None:
    driver = working("work")
    driver.take(control("pause"))
    assert driver.take(control("stopRun"))[-1] == Park("idle")
    assert (driver.session.phase, driver.session.cause) == (Phase.IDLE, "")


@pytest.mark.parametrize("letter", [said("go on"), notified("c1"), finished("c1")], ids=["user", "notify", "end"])
def test_any_mail_resumes_where_the_agent_says_so(letter: object) -> None:
    driver = working("work", resumeOnAnyMail=True)
    driver.take(control("pause"))
    assert driver.take(letter)[-1] != Park("paused")  # pyright: ignore[reportArgumentType]
    assert not driver.session.is_paused


def test_control_mail_other_than_resume_resumes_nothing() -> None:
    driver = working("work", resumeOnAnyMail=True)
    driver.take(control("pause"))
    assert driver.take(control("cancelAllAttached"))[-1] == Park("paused")


# ---- one answer at a time


def test_a_session_resumed_for_one_answer_pauses_before_the_next_request() -> None:
    driver = Driver()
    driver.take(control("pause"), said("go"))
    assert driver.take(control("resume", turns=1)) == (AskModel(),)
    driver.reply(call("work"))
    assert driver.take(finished("c1")) == (Park("paused"),)
    assert driver.session.cause == STEPPED
    assert driver.tool_messages[0].text == "fine"
    assert driver.take(control("resume", turns=1)) == (AskModel(),)
    assert driver.reply(text="done") == (Park("idle"),)
    assert driver.session.pause_after == 0


def test_a_running_session_can_be_told_to_pause_behind_its_next_answer() -> None:
    driver = Driver()
    driver.begin_run()
    assert driver.take(control("resume", turns=1)) == (AskModel(),)
    driver.reply(call("work"))
    assert driver.take(finished("c1")) == (Park("paused"),)


def test_resuming_without_a_number_takes_the_number_back() -> None:
    driver = Driver()
    driver.begin_run()
    driver.take(control("resume", turns=1), control("resume"))
    driver.reply(call("work"))
    assert driver.take(finished("c1")) == (AskModel(),)


# ---- cancelling calls


def test_all_attached_calls_are_cancelled_and_the_run_goes_on() -> None:
    driver = working("wait", "work", "two_seconds")
    assert driver.take(control("cancelAllAttached")) == (
        Cancel(("c1", "c2", "c3"), "cancelled by user", "user"),
        Wait(driver.now + 2000),
    )
    decisions = driver.take(*(finished(call_id, CANCELLED) for call_id in ("c1", "c2", "c3")))
    assert decisions == (AskModel(),)
    assert {message.text for message in driver.tool_messages} == {"async tool call was cancelled"}


def test_cancelling_what_is_attached_ends_the_wait_of_a_question() -> None:
    driver = Driver(make_brief(capabilities=[STATUS], strategy=ANY_PROGRESS))
    driver.begin_run()
    driver.reply(call("never"))
    driver.bring()
    driver.take(driver.answer(call(STATUS, "q", '{"tool_call_id":"a","wait_for_completion":true}')))
    driver.take(Begun("c2", ("c1",), driver.now + 5000))
    driver.take(control("cancelAllAttached"))
    assert driver.session.asked[0].woken_by == "user"
    assert not driver.tracked("c1").stopping


def test_named_calls_are_cancelled_also_from_earlier_turns_and_while_the_model_answers() -> None:
    driver = working("never", "never")
    driver.bring()
    decisions = driver.take(control("cancelCalls", calls=("c1", "nobody")))
    assert decisions == (Cancel(("c1",), "cancelled by user", "user"), AskModel())
    assert driver.last.log == ()


def test_a_call_to_be_cancelled_is_not_published_any_more() -> None:
    driver = working("work", "work_too", slots=1)
    driver.take(control("cancelCalls", calls=("c2",)))
    assert not any(isinstance(it, Queue) for it in driver.take(finished("c1")))


def test_the_next_call_of_a_turn_waits_for_the_end_of_one_that_is_being_cancelled() -> None:
    driver = working("wait", "wait_too")
    assert not any(isinstance(it, Queue) for it in driver.take(control("cancelCalls", calls=("c1",))))
    assert driver.take(finished("c1", CANCELLED))[0] == Queue(("c2",))


def test_calls_that_are_not_recorded_yet_are_cancelled_as_soon_as_they_are() -> None:
    driver = Driver()
    driver.begin_run()
    first = driver.take(driver.answer(*(call("work") for _ in range(RECORDS_A_STEP + 1))), control("cancelAllAttached"))
    assert [len(it.calls) for it in first if isinstance(it, Cancel)] == [RECORDS_A_STEP]
    [rest] = [it for it in driver.take() if isinstance(it, Cancel)]
    assert rest.calls == (f"c{RECORDS_A_STEP + 1}",)


def test_a_new_owner_asks_again_for_the_ends_that_were_wanted() -> None:
    driver = working("work")
    driver.take(control("cancelCalls", calls=("c1",)))
    assert driver.take(Acquired())[0] == Cancel(("c1",), "cancelled by user", "user")


# ---- interrupts


def test_interrupt_mail_lets_go_of_every_attached_call_and_joins_the_turn() -> None:
    driver = working("wait", "wait_too", "work")
    driver.take(interrupted("stop waiting"))
    driver.bring()
    assert all(message.placeholder for message in driver.tool_messages)
    assert '"detached":"interrupted"' in driver.tool_messages[0].text
    assert (driver.user_text, driver.last.decisions) == ("stop waiting", (AskModel(),))


def test_ordinary_words_leave_the_step_waiting_for_a_runsync_call() -> None:
    driver = working("wait")
    assert driver.take(said("hurry")) == (Wait(None),)


def test_a_runsync_call_of_a_new_turn_does_not_wait_for_one_that_was_let_go() -> None:
    driver = working("wait")
    driver.take(interrupted("do something else"))
    driver.bring()
    assert Queue(("c2",)) in driver.reply(call("wait_too", "b"))


def test_interrupt_mail_leaves_a_synchronous_agent_waiting_for_its_call() -> None:
    driver = working("wait", mode="synchronous")
    assert driver.take(interrupted("now!")) == (Wait(None),)


def test_interrupt_mail_from_a_session_ends_a_wait_and_ordinary_mail_does_not() -> None:
    driver = working("wait")
    assert driver.take(mail("agentMessage", "hm", sender="s2")) == (Wait(None),)
    driver.take(mail("agentMessage", "hey", sender="s2", priority="interrupt"))
    driver.bring()
    assert driver.user_text.count("from session s2") == 2


def test_interrupt_mail_ends_a_completion_where_the_agent_says_so() -> None:
    driver = Driver(make_brief(interruptCompletions=True))
    driver.begin_run("go")
    assert driver.take(interrupted("no, wait")) == (AskModel(),)
    assert (driver.user_text, driver.events) == ("no, wait", ["turn.restarted"])
    assert driver.last.log
    assert driver.transcript.count == 3


def test_interrupt_mail_waits_for_the_answer_otherwise_and_then_holds_nothing_up() -> None:
    driver = Driver()
    driver.begin_run("go")
    assert driver.take(interrupted("no, wait")) == (AskModel(),)
    assert driver.last.log == ()
    driver.reply(call("wait"))
    driver.bring()
    assert driver.user_text == "no, wait"


# ---- a step that fails


def test_a_session_whose_step_fails_is_paused_and_its_calls_end_as_the_agent_says() -> None:
    driver = working("work")
    kept = make_brief(onRunFailure="keep")
    step = set_aside(driver.brief, driver.session, "internal error: ValueError")
    assert step.decisions == (Cancel(("c1",), "run failed", "system"), Park("paused"))
    assert step.session.cause == "internal error: ValueError"
    assert set_aside(kept, driver.session, "x").decisions == (Park("paused"),)
    assert set_aside(kept, driver.session, "x").session == replace(driver.session, cause="x")


def test_letters_are_counted_as_heard_when_they_are_shown_and_ends_of_calls_are_not() -> None:
    driver = Driver(session=Session("s1"))
    driver.take(control("pause"), said("a"), said("b"), mail("toolCallFinished", call="stranger", outcome=done()))
    assert driver.session.heard == 0
    driver.take(control("resume"))
    assert driver.session.heard == 2
