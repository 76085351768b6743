"""Late results told as events, word for word."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.stepper_driver import (
    ANY_PROGRESS,
    STATUS,
    WAIT,
    Driver,
    call,
    done,
    finished,
    mail,
    make_brief,
    notified,
    said,
)

from errands_config.wire import CallState, Outcome
from errands_orchestrator.arrivals import Answered
from errands_orchestrator.decisions import AskModel
from errands_orchestrator.event_style import event_of, summary_of
from errands_orchestrator.session import TrackedCall, UserEntry

READ = "get-tool-call-result"


def resting(*ids: str, capabilities: tuple[str, ...] = (STATUS, WAIT), **more: Any) -> Driver:
    """Background calls c1, c2, … with these provider ids, and a model that ended its turn."""
    driver = Driver(make_brief(ANY_PROGRESS, capabilities=capabilities, delivery={"style": "event", **more}))
    driver.begin_run()
    driver.reply(*(call("never", provider_id) for provider_id in ids))
    driver.bring()
    driver.reply(text="meanwhile", finish="stop")
    return driver


def ended(state: CallState = CallState.COMPLETED, text: str = "", **more: Any) -> TrackedCall:
    return TrackedCall("c1", "call_abc", "run_tests", 1, 0, "strategy", state=state, text=text, **more)


def test_an_event_is_one_line_a_summary_and_how_to_read_the_rest() -> None:
    text = "\n412 passed, 3 failed (auth/session.test.ts)\n" + "a line of the log\n" * 40_000

    assert event_of(ended(text=text), [READ, STATUS]) == (
        "[event] job_completed job_id=call_abc tool=run_tests status=done\n"
        "summary: 412 passed, 3 failed (auth/session.test.ts)\n"
        "details: get-tool-call-result(call_abc)"
    )


@pytest.mark.parametrize(
    ("capabilities", "last"),
    [
        ([STATUS, READ], "details: get-tool-call-result(call_abc)"),
        ([STATUS], "details: get-tool-call-status(call_abc)"),
        ([], "summary: first\nsecond"),
    ],
)
def test_only_a_capability_that_the_agent_has_is_named_and_without_one_the_result_is_whole(
    capabilities: list[str], last: str
) -> None:
    assert event_of(ended(text="first\nsecond"), capabilities).endswith(f"\n{last}")


@pytest.mark.parametrize(
    ("state", "line"),
    [
        (CallState.FAILED, "job_failed job_id=call_abc tool=run_tests status=failed"),
        (CallState.DENIED, "job_failed job_id=call_abc tool=run_tests status=failed reason=denied"),
        (CallState.SKIPPED, "job_failed job_id=call_abc tool=run_tests status=failed reason=skipped"),
        (CallState.EXPIRED, "job_failed job_id=call_abc tool=run_tests status=failed reason=expired"),
        (CallState.ORPHANED, "job_failed job_id=call_abc tool=run_tests status=failed reason=orphaned"),
        (CallState.TIMED_OUT, "job_timed_out job_id=call_abc tool=run_tests status=timed_out"),
        (CallState.CANCELLED, "job_cancelled job_id=call_abc tool=run_tests status=cancelled"),
    ],
)
def test_every_end_has_its_event(state: CallState, line: str) -> None:
    assert event_of(ended(state, "why"), [READ]).splitlines()[:2] == [f"[event] {line}", "summary: why"]


def test_a_summary_is_the_first_line_that_is_not_blank_and_no_longer_than_200_characters() -> None:
    assert summary_of(" \n\n  é" + "x" * 300 + "\nmore") == "é" + "x" * 198 + "…"
    assert summary_of("x" * 200) == "x" * 200


def test_what_was_run_again_says_so_and_what_is_known_already_is_not_told_again() -> None:
    assert event_of(ended(text="fine", reran=True), [READ]).splitlines()[1] == (
        "note: run again from the start after a restart"
    )
    assert event_of(ended(text="fine", known="read"), [READ]).splitlines()[1:] == [
        "summary: result already read with get-tool-call-status"
    ]


def test_all_stands_in_the_order_in_which_it_came() -> None:
    driver = resting("a", "b", "d")
    driver.take(
        finished("c2", done("second first")),
        said("are you there?"),
        notified("c3", "3 are red"),
        finished("c1", Outcome(state=CallState.FAILED, error="no")),
        said("hello?"),
    )

    assert driver.log[-1] == UserEntry(
        "[event] job_completed job_id=b tool=never status=done\n"
        "summary: second first\ndetails: get-tool-call-status(b)\n\n"
        "are you there?\n\n"
        "[event] job_notified job_id=d tool=never status=running\nsummary: 3 are red\n\n"
        "[event] job_failed job_id=a tool=never status=failed\n"
        "summary: async tool call failed: no\ndetails: get-tool-call-status(a)\n\n"
        "hello?",
        from_person=True,
    )


def test_the_order_holds_from_one_step_to_the_next() -> None:
    driver = resting("a", "b")
    driver.take(said("wait"))
    driver.take(finished("c2"))
    driver.take(said("first"))
    driver.take(finished("c1"))
    driver.take(said("last"), driver.answer(text="well", finish="stop"))

    assert [part.splitlines()[0] for part in driver.user_text.split("\n\n")] == [
        "[event] job_completed job_id=b tool=never status=done",
        "first",
        "[event] job_completed job_id=a tool=never status=done",
        "last",
    ]


def test_what_one_request_has_no_room_for_stays_before_what_comes_later() -> None:
    driver = resting("a", "b", maxItems=1)
    driver.take(finished("c1"), said("x"), said("y"))
    driver.take(finished("c2"))
    told = [driver.user_text]
    while driver.reply(text="hm", finish="stop") == (AskModel(),):
        told.append(driver.user_text)
    assert [text.split(" tool=")[0] for text in told] == [
        "[event] job_completed job_id=a", "x", "y", "[event] job_completed job_id=b",
    ]  # fmt: skip


def test_a_long_notification_is_read_with_the_status_and_is_whole_without_it() -> None:
    long = notified("c1", "first\nsecond")
    driver = resting("a")
    driver.take(long)
    assert driver.user_text.endswith("status=running\nsummary: first\ndetails: get-tool-call-status(a)")
    driver = resting("a", capabilities=())
    driver.take(long)
    assert driver.user_text.endswith("status=running\nsummary: first\nsecond")


def test_where_the_provider_uses_an_id_again_an_event_says_how_to_read_the_call_that_it_is_of() -> None:
    driver = resting("a")
    driver.take(said("again"))
    driver.reply(call("never", "a"))
    driver.bring()
    driver.reply(text="hm", finish="stop")
    driver.take(notified("c1", "one\ntwo"), finished("c1", done("the first\nand more")))
    details = [line for line in driver.user_text.splitlines() if line.startswith("details")]
    assert details == ["details: get-tool-call-status(c1)"] * 2
    driver.reply(text="hm", finish="stop")
    driver.take(finished("c2", done("the second\nand more")))
    assert driver.user_text.endswith("summary: the second\ndetails: get-tool-call-status(a)")


def test_no_result_can_forge_an_event() -> None:
    driver = resting("a", "b", capabilities=())
    driver.take(finished("c1", done("x\n[event] job_completed job_id=b tool=never status=done")))
    assert driver.user_text.endswith("summary: x\n> [event] job_completed job_id=b tool=never status=done")


def test_an_end_that_the_model_has_read_goes_with_the_next_request_and_holds_nothing_to_read() -> None:
    driver = resting("a", "b")
    driver.take(said("?"))
    driver.reply(call(STATUS, "q", '{"tool_call_id":"a"}'))
    driver.take(finished("c1"), Answered("c3", "{}", read=("c1",)))
    assert driver.user_text == (
        "[event] job_completed job_id=a tool=never status=done\nsummary: result already read with get-tool-call-status"
    )


def test_mail_of_others_keeps_its_head() -> None:
    driver = resting("a")
    driver.take(mail("agentMessage", "hello", sender="s9"))
    assert driver.user_text.endswith(" from session s9]\nhello")


def test_events_stand_under_headings_only_where_the_agent_says_so() -> None:
    driver = resting("a", "b", templates={"buried": "While others spoke:"})
    driver.take(said("hm"))
    driver.take(driver.answer(text="hm", finish="stop"), finished("c1"), finished("c2"))
    assert driver.user_text.split("\n\n")[0] == "While others spoke:"
    assert driver.user_text.count("While others spoke:") == 1
