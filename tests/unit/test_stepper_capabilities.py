"""Capabilities in a turn: when they are begun, what ends their waits, when they are answered."""

from __future__ import annotations

import pytest
from tests.unit.stepper_driver import (
    ALL_DONE,
    ANY_PROGRESS,
    CANCEL,
    RUNNING,
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

from errands_config.wire import CallState
from errands_orchestrator.arrivals import Acquired, Answered, Begun, Looked
from errands_orchestrator.decisions import Answer, AskModel, Begin, Look, Park, Queue, Wait
from errands_orchestrator.session import Reads

ABOUT_C1 = '{"tool_call_id":"p1"}'


def in_background(strategy: object = ALL_DONE) -> Driver:
    """A call c1 in the background since the first turn; the model is asked."""
    driver = Driver(make_brief(strategy))
    driver.begin_run()
    driver.reply(call("never", "p1"))
    driver.bring()
    return driver


def waiting(milliseconds: int | None, strategy: object = ALL_DONE) -> Driver:
    """The same, and in the second turn a question c2 about c1 that waits so long for its end."""
    driver = in_background(strategy)
    driver.take(driver.answer(call(STATUS, "q", ABOUT_C1)))
    driver.take(Begun("c2", ("c1",), None if milliseconds is None else driver.now + milliseconds))
    return driver


def answers(driver: Driver) -> bool:
    return any(isinstance(decision, Answer) for decision in driver.last.decisions)


def test_capabilities_are_begun_beside_the_publication_of_the_calls_of_their_turn() -> None:
    driver = Driver()
    driver.begin_run()
    decisions = driver.take(
        driver.answer(call(RUNNING, "a"), call("work", "b"), call("wait", "c"), call(CANCEL, "d", ABOUT_C1))
    )
    first, second = driver.session.asked
    assert decisions == (Queue(("c2", "c3")), Begin(first), Begin(second))
    assert (second.id, second.name, second.arguments, second.position) == ("c4", CANCEL, ABOUT_C1, 3)
    assert [record.id for record in driver.last.records] == ["c2", "c3"]


def test_a_capability_takes_no_slot() -> None:
    driver = Driver(make_brief(slots=1))
    driver.begin_run()
    decisions = driver.take(driver.answer(call(RUNNING, "a"), call("work", "b")))
    assert decisions[0] == Queue(("c2",))


def test_no_capability_is_begun_before_the_whole_turn_is_recorded() -> None:
    driver = Driver()
    driver.begin_run()
    decisions = driver.take(driver.answer(*(call("work") for _ in range(101)), call(RUNNING)))
    assert not any(isinstance(decision, Begin) for decision in decisions)
    assert any(isinstance(decision, Begin) for decision in driver.take())


def test_a_question_without_a_wait_is_answered_when_the_step_hands_back() -> None:
    driver = Driver()
    driver.begin_run()
    driver.reply(call("work", "a"), call(RUNNING, "b"))
    assert driver.last.decisions == (Wait(None),)
    driver.take(finished("c1"))
    assert driver.last.decisions == (Answer(driver.session.asked[0]),)
    assert driver.take(Answered("c2", '{"running":[]}')) == (AskModel(),)
    assert [message.text for message in driver.tool_messages] == ["fine", '{"running":[]}']


def test_answers_and_looks_are_brought_together_and_asked_for_until_they_are_in() -> None:
    driver = Driver(make_brief(ANY_PROGRESS))
    driver.begin_run()
    driver.reply(call("work", "a"), call(RUNNING, "b"), call("work_too", "c"))
    driver.take(finished("c1"))
    assert driver.last.decisions == (Answer(driver.session.asked[0]), Look(("c3",)))
    assert driver.take(Acquired()) == (Answer(driver.session.asked[0]), Look(("c3",)))
    assert driver.take(Looked((("c3", CallState.RUNNING),))) == (Answer(driver.session.asked[0]),)
    assert driver.take(Answered("c2", "{}")) == (AskModel(),)


def test_an_answer_that_takes_the_reason_for_handing_back_away_does_not_stop_it() -> None:
    driver = in_background(ANY_PROGRESS)
    driver.reply(call(STATUS, "q", ABOUT_C1), call("work", "r"))
    driver.take(finished("c1"))
    assert driver.take(Answered("c2", "{}", read=("c1",)), Looked((("c3", CallState.RUNNING),))) == (AskModel(),)


def test_a_call_that_ends_between_the_look_and_the_hand_back_shows_its_result() -> None:
    driver = Driver(make_brief(ANY_PROGRESS))
    driver.begin_run()
    driver.reply(call("work", "a"), call("work_too", "b"))
    driver.take(finished("c1"))
    assert driver.take(finished("c2", done("as well"))) == (AskModel(),)
    assert driver.tool_messages[1].text == "as well"


def test_a_wait_ends_with_the_call_that_it_waits_for() -> None:
    driver = waiting(30_000)
    assert driver.last.decisions == (Wait(driver.now + 30_000),)
    driver.take(finished("c1"))
    assert answers(driver)
    assert driver.session.asked[0].woken_by == ""


def test_a_wait_ends_when_its_time_is_up() -> None:
    driver = waiting(30_000)
    driver.take(after=29_999)
    assert not answers(driver)
    driver.take(after=1)
    assert answers(driver)


@pytest.mark.parametrize(("news", "by"), [(said("hey"), "user"), (notified("c1"), "notify")])
def test_mail_ends_a_wait_and_is_named(news: object, by: str) -> None:
    driver = waiting(30_000)
    driver.take(news)  # pyright: ignore[reportArgumentType]
    assert answers(driver)
    assert driver.session.asked[0].woken_by == by


def test_mail_that_was_there_before_ends_a_wait_as_it_begins() -> None:
    driver = in_background()
    driver.take(said("hey"))
    driver.take(driver.answer(call(STATUS, "q", ABOUT_C1)))
    driver.take(Begun("c2", ("c1",), driver.now + 30_000))
    assert answers(driver)


def test_what_ended_a_wait_first_stays_its_end() -> None:
    driver = in_background()
    driver.take(driver.answer(call(STATUS, "q", ABOUT_C1), call("wait", "r")))
    driver.take(Begun("c2", ("c1",), driver.now + 30_000))
    driver.take(finished("c1"))
    driver.take(said("hey"))
    assert driver.session.asked[0].woken_by == ""


def test_a_wait_for_a_call_that_the_session_does_not_know_ends_by_its_time() -> None:
    driver = in_background()
    driver.take(driver.answer(call(STATUS, "q", ABOUT_C1)))
    driver.take(Begun("c2", ("a stranger",), driver.now + 5))
    assert driver.last.decisions == (Wait(driver.now + 5),)
    driver.take(after=5)
    assert answers(driver)


def test_a_question_about_a_call_of_the_same_turn_may_wait_for_it() -> None:
    driver = Driver(make_brief(ANY_PROGRESS))
    driver.begin_run()
    driver.take(driver.answer(call("work", "p1"), call(STATUS, "q", ABOUT_C1)))
    driver.take(Begun("c2", ("c1",), driver.now + 5000))
    driver.take(finished("c1"))
    assert driver.last.decisions == (Answer(driver.session.asked[0]),)


@pytest.mark.parametrize(
    ("answered", "by"),
    [
        (Answered("c2", "{}", read=("c1",)), "get-tool-call-status"),
        (Answered("c2", "{}", paged=("c1",)), "get-tool-call-result"),
    ],
)
def test_a_result_that_was_read_is_told_as_read_and_causes_no_request(answered: Answered, by: str) -> None:
    driver = waiting(None)
    driver.take(answered)
    assert driver.reply(text="fine", finish="stop") == (Wait(None),)
    assert driver.take(finished("c1")) == (Park("idle"),)
    driver.begin_run("next")
    assert driver.user_text.endswith(f"finished:\n\ntool_call_id p1 (never) completed: result already read with {by}")
    assert driver.session.calls == ()


def test_the_news_of_a_call_that_the_model_stopped_itself_causes_no_request() -> None:
    driver = in_background()
    driver.reply(call(CANCEL, "q", ABOUT_C1))
    driver.take(Answered("c2", "{}", stopped=("c1",)))
    driver.reply(text="stopped", finish="stop")
    assert driver.session.phase == "resting"
    assert driver.tracked("c1").known == "stopped"


def test_reads_are_counted_by_whoever_answers_and_forgotten_at_the_end_of_the_run() -> None:
    driver = waiting(None)
    driver.take(Answered("c2", "{}", seen=Reads("c1", "mark", 1)))
    assert driver.session.reads == (Reads("c1", "mark", 1),)
    driver.reply(call(STATUS, "q", ABOUT_C1))
    driver.take(Answered("c3", "{}", seen=Reads("c1", "mark", 2)))
    assert driver.session.reads == (Reads("c1", "mark", 2),)
    driver.take(control("stopRun"))
    assert driver.session.reads == ()


def test_the_answer_to_a_question_of_a_stopped_turn_is_dropped() -> None:
    driver = waiting(30_000)
    driver.take(control("stopRun"))
    assert driver.take(Answered("c2", "{}", read=("c1",))) == (Park("idle"),)
    assert driver.tracked("c1").known == ""


@pytest.mark.parametrize("arguments", ["{", "[]", '{"tool_call_id":1}', '{"tool_call_id":"p1","timeout_seconds":301}'])
def test_a_capability_with_arguments_that_it_does_not_take_is_refused_and_not_begun(arguments: str) -> None:
    driver = in_background()
    assert driver.reply(call(STATUS, "q", arguments)) == (AskModel(),)
    assert driver.tool_messages[0].text.startswith("invalid arguments: ")


def test_a_capability_that_was_not_offered_is_an_unknown_tool() -> None:
    driver = Driver(make_brief(capabilities=[RUNNING]))
    driver.begin_run()
    driver.reply(call(CANCEL, "q", ABOUT_C1))
    assert driver.tool_messages[0].text == "unknown tool: cancel-tool-call"
