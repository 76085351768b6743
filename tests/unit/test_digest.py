"""The digest of outstanding work: what it says, when it is sent, and that it never comes alone."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.stepper_driver import (
    ANY_PROGRESS,
    ASK,
    RUNNING,
    Driver,
    call,
    control,
    done,
    finished,
    interrupted,
    make_brief,
    said,
)

from errands_config.wire import CallState
from errands_orchestrator.arrivals import Acquired, Surveyed
from errands_orchestrator.decisions import AskModel, Decision, Park, Survey
from errands_orchestrator.digest import MOST_CALLS, OUTSTANDING, Outstanding, to_survey, with_digest
from errands_orchestrator.session import Phase, Session, TrackedCall, UserEntry

STARTED = "2026-12-01T05:00:00.000Z"


def resting(*ids: str, **more: Any) -> Driver:
    """Background calls c1, c2, … with these provider ids, and a model that ended its turn."""
    driver = Driver(make_brief(ANY_PROGRESS, registry={"digest": True}, **more))
    driver.begin_run()
    driver.reply(*(call("never", provider_id) for provider_id in ids))
    driver.bring()
    driver.reply(text="meanwhile", finish="stop")
    return driver


def standing(call_id: str, progress: str = "", state: CallState = CallState.RUNNING, **more: Any) -> Outstanding:
    return Outstanding(call_id, state, progress=progress, **more)


def surveyed(driver: Driver, *calls: Outstanding) -> tuple[Decision, ...]:
    """Bring what was asked for."""
    [survey] = driver.last.decisions
    assert isinstance(survey, Survey)
    assert survey.calls == tuple(one.call for one in calls)
    return driver.take(Surveyed(calls))


def test_a_message_ends_with_how_open_calls_stand() -> None:
    driver = resting("a", "b", "d")
    assert driver.take(said("how is it going?"), finished("c3")) == (Survey(("c1", "c2")),)
    assert driver.session.phase is Phase.READY
    decisions = surveyed(
        driver, standing("c1", "3 of 40 pages", started=STARTED), standing("c2", state=CallState.QUEUED)
    )
    assert decisions == (AskModel(),)
    assert driver.user_text == (
        "how is it going?\n\n"
        "Background tool calls finished since their placeholder responses:\n\n"
        "tool_call_id d (never) completed:\nfine\n\n"
        "Background tool calls still outstanding:\n"
        f"- a (never): running since {STARTED}, last progress: 3 of 40 pages\n"
        "- b (never): pending"
    )


def test_a_handle_stands_for_the_id_and_a_question_says_what_is_asked() -> None:
    named = TrackedCall("c1", "a", "look", 1, 0, "strategy", handle="price_1")
    asked = TrackedCall("c2", "q", ASK, 1, 1, "forever", state=CallState.DEFERRED)
    question = standing("c2", state=CallState.DEFERRED, question="Which colour?")
    _, entry = with_digest(
        make_brief(), Session("s", calls=(named, asked)), UserEntry("x"), [standing("c1", "half"), question]
    )
    assert entry.text.splitlines()[-2:] == [
        "- price_1 (look): running, last progress: half",
        '- q (ask-user): deferred, asks "Which colour?"',
    ]


def test_it_is_sent_only_when_it_differs_from_the_last_one() -> None:
    driver = resting("a")
    for progress, comes in (("one", True), ("one", False), ("two", True), ("two", False)):
        driver.take(said("?"))
        surveyed(driver, standing("c1", progress))
        assert (OUTSTANDING in driver.user_text) == comes
        driver.reply(text="hm", finish="stop")


def test_after_ten_turns_it_is_sent_again_although_nothing_has_changed() -> None:
    driver = resting("a")
    comes: list[bool] = []
    for _ in range(22):
        driver.take(said("?"))
        surveyed(driver, standing("c1", "same"))
        comes.append(OUTSTANDING in driver.user_text)
        driver.reply(text="hm", finish="stop")
    assert [turn for turn, came in enumerate(comes) if came] == [0, 10, 20]


def test_it_never_comes_alone_and_looks_nothing_up_then() -> None:
    driver = Driver(make_brief(ANY_PROGRESS, registry={"digest": True}))
    driver.begin_run()
    driver.reply(call("wait", "a"), call("never", "b"))
    driver.take(finished("c1"))
    assert driver.bring() == (AskModel(),)
    assert len([entry for entry in driver.log if isinstance(entry, UserEntry)]) == 1


def test_nothing_is_looked_up_without_open_calls_or_where_the_agent_has_no_digest() -> None:
    driver = resting("a")
    assert driver.take(finished("c1")) == (AskModel(),)
    driver = Driver(make_brief(ANY_PROGRESS, registry={}))
    driver.begin_run()
    driver.reply(call("never", "a"))
    driver.bring()
    driver.reply(text="hm", finish="stop")
    assert driver.take(said("?")) == (AskModel(),)


def test_a_call_that_has_ended_meanwhile_is_left_out_because_its_notice_is_on_the_way() -> None:
    driver = resting("a")
    driver.take(said("?"))
    surveyed(driver, standing("c1", state=CallState.COMPLETED))
    assert driver.user_text == "?"


def test_many_open_calls_are_named_up_to_twenty_and_the_others_counted() -> None:
    calls = tuple(TrackedCall(f"c{n}", f"p{n}", "t", 1, n, "strategy") for n in range(MOST_CALLS + 5))
    seen = [standing(one.id) for one in calls[:MOST_CALLS]]
    session = Session("s", calls=calls)
    assert to_survey(make_brief(registry={"digest": True}), session) == tuple(one.call for one in seen)
    for capabilities, last in (
        ([RUNNING], "- and 5 more; list-running-tool-calls lists them"),
        ([], "- and 5 more"),
    ):
        _, entry = with_digest(make_brief(capabilities=capabilities), session, UserEntry("x"), seen)
        assert len(entry.text.splitlines()) == 2 + 1 + MOST_CALLS + 1
        assert entry.text.splitlines()[-1] == last


def test_whoever_takes_a_session_over_looks_again() -> None:
    driver = resting("a")
    driver.take(said("?"))
    assert driver.take(Acquired()) == (Survey(("c1",)),)
    surveyed(driver, standing("c1"))
    assert driver.user_text.startswith("?\n\nBackground tool calls still outstanding:")


def test_what_arrives_while_it_is_looked_up_is_told_too_and_a_stop_ends_it() -> None:
    driver = resting("a", "b")
    driver.take(said("?"))
    driver.take(Surveyed((standing("c1"), standing("c2"))), said("!"), finished("c1", done("in")))
    assert driver.user_text.startswith("?\n\n!\n\nBackground tool calls finished")
    assert driver.user_text.endswith("outstanding:\n- b (never): running")
    driver.reply(text="hm", finish="stop")
    driver.take(said("?"))
    assert driver.take(control("stopRun"), Surveyed((standing("c2"),)))[-1] == Park("idle")


@pytest.mark.parametrize("taken_over", [False, True])
def test_a_request_that_an_interrupt_voids_is_made_anew_with_a_digest(*, taken_over: bool) -> None:
    driver = resting("a", interruptCompletions=True)
    driver.take(said("?"))
    surveyed(driver, standing("c1", "one"))
    assert driver.take(interrupted("now!")) == (Survey(("c1",)),)
    if taken_over:
        assert driver.take(Acquired()) == (Survey(("c1",)),)
    assert surveyed(driver, standing("c1", "two")) == (AskModel(),)
    assert driver.user_text == (
        "now!\n\nBackground tool calls still outstanding:\n- a (never): running, last progress: two"
    )
    assert driver.events == ["turn.restarted"]
