"""A run from message to end: phases, retries, pauses, stops."""

from __future__ import annotations

from math import inf

import pytest
from tests.unit.stepper_driver import (
    ANY_PROGRESS,
    CANCEL,
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
from errands_orchestrator.arrivals import Acquired, AskFailed, Replied
from errands_orchestrator.decisions import Again, AskModel, Cancel, Park, Queue, Wait
from errands_orchestrator.models.model import Reply
from errands_orchestrator.session import AssistantEntry, UserEntry


def asking(**more: object) -> Driver:
    driver = Driver(make_brief(ANY_PROGRESS, **more))  # pyright: ignore[reportArgumentType]
    driver.begin_run()
    return driver


def test_a_message_starts_a_run_and_a_final_text_ends_it() -> None:
    driver = Driver()
    assert driver.begin_run("hello") == (AskModel(),)
    assert driver.log == [UserEntry("hello", from_person=True)]
    assert driver.events == ["run.started", "turn.started"]
    assert driver.reply(text="hi", finish="stop") == (Park("idle"),)
    assert driver.log[1:] == [AssistantEntry("hi")]
    assert driver.events == ["turn.completed", "run.ended"]
    assert driver.last.events[-1].facts == (("status", "completed"),)


def test_a_call_is_recorded_and_published_with_the_answer_that_makes_it() -> None:
    driver = asking()
    assert driver.reply(call("work")) == (Queue(("c1",)), Wait(None))
    (record,) = driver.last.records
    assert (record.id, record.tool, record.arguments, record.provider_id) == ("c1", "work", "{}", "a")
    assert (record.turn, record.position, record.queue, record.outcome) == (1, 0, "default", None)
    assert driver.take(finished("c1")) == (AskModel(),)
    assert driver.reply(text="done", finish="stop") == (Park("idle"),)
    assert driver.session.calls == ()


def test_a_finish_that_arrives_twice_is_applied_once() -> None:
    driver = asking()
    driver.reply(call("work"), call("wait", "b"))
    driver.take(finished("c1", done("first")))
    driver.take(finished("c1", done("second")))
    driver.take(finished("c2"), finished("c2"))
    assert [message.text for message in driver.tool_messages] == ["first", "fine"]


def test_a_step_without_news_changes_nothing() -> None:
    driver = asking()
    driver.take()
    assert (driver.last.decisions, driver.last.changed) == ((AskModel(),), False)


def test_a_step_that_took_mail_moves_the_cursor_even_if_nothing_else_changed() -> None:
    driver = Driver()
    driver.take(control("resume"))
    assert (driver.last.decisions, driver.last.changed) == ((Park("idle"),), True)


def test_a_new_owner_sends_the_unanswered_request_again() -> None:
    driver = asking()
    assert driver.take(Acquired()) == (AskModel(),)
    assert (driver.events, driver.last.log, driver.last.changed) == (["turn.restarted"], (), True)


def test_mail_during_a_request_waits_for_the_next_one() -> None:
    driver = asking()
    assert driver.take(said("and this")) == (AskModel(),)
    assert driver.last.log == ()
    assert driver.reply(text="hm", finish="stop") == (AskModel(),)
    assert driver.user_text == "and this"


def test_failed_requests_are_repeated_with_growing_pauses_and_then_the_run_is_paused() -> None:
    driver = asking()
    failure = AskFailed("rate_limited", retryable=True)
    for pause in (500, 1000, 2000):
        assert driver.take(failure) == (Wait(driver.now + pause),)
        assert driver.take(after=pause - 1) == (Wait(driver.now + 1),)
        assert driver.take(after=1) == (AskModel(),)
    assert driver.take(failure) == (Park("paused"),)
    assert (driver.last.decisions, driver.session.cause, driver.events) == (
        (Park("paused"),),
        "rate_limited",
        ["run.paused"],
    )


@pytest.mark.parametrize(("asked_for", "wait"), [(0.1, 500), (7.5, 7500), (9999.0, 60_000), (inf, 60_000)])
def test_the_endpoint_may_ask_for_a_longer_pause_of_at_most_a_minute(asked_for: float, wait: int) -> None:
    driver = asking()
    decisions = driver.take(AskFailed("rate_limited", retryable=True, retry_after=asked_for))
    assert decisions == (Wait(driver.now + wait),)


def test_a_new_owner_waits_no_longer_for_a_retry_than_the_longest_pause_even_if_the_clock_went_back() -> None:
    driver = asking()
    driver.take(AskFailed("rate_limited", retryable=True))
    driver.now -= 3_600_000

    assert driver.take(Acquired()) == (Wait(driver.now + 60_000),)


def test_an_answer_forgets_the_failures_before_it() -> None:
    driver = asking()
    driver.take(AskFailed("server", retryable=True))
    driver.take(after=500)
    driver.reply(call("wait"))
    assert (driver.session.failures, driver.session.retry_at) == (0, 0)


def test_a_paused_run_keeps_everything_and_resumes_with_the_same_request() -> None:
    driver = Driver(make_brief(ANY_PROGRESS, slots=1))
    driver.begin_run()
    driver.reply(call("work"), call("work_too", "b"), call("never", "c"))
    driver.take(said("go on"))
    driver.bring()
    assert driver.take(AskFailed("key", retryable=False)) == (Park("paused"),)
    # its calls go on: the next takes the slot that the finished one left
    assert driver.take(finished("c1", done("late"))) == (Queue(("c2",)), Park("paused"))
    assert driver.take(Acquired(), said("still there?")) == (Park("paused"),)
    assert driver.take(Acquired(), control("resume")) == (AskModel(),)
    assert (driver.events, driver.last.log) == (["run.resumed", "turn.restarted"], ())
    driver.reply(text="yes", finish="stop")
    assert driver.user_text.startswith("still there?\n\nBackground tool calls from earlier")


def test_resume_means_nothing_unless_the_run_is_paused() -> None:
    driver = asking()
    assert driver.take(control("resume")) == (AskModel(),)
    assert driver.events == []


def test_an_answer_that_comes_after_a_stop_is_dropped() -> None:
    driver = asking()
    late = Replied(Reply("too late"), ())
    assert driver.take(control("stopRun"), late) == (Park("idle"),)
    assert driver.last.log == ()
    assert driver.last.events[-1].facts == (("status", "cancelled"),)


def test_a_message_behind_a_stop_starts_a_new_run_with_a_new_request() -> None:
    driver = asking()
    assert driver.take(control("stopRun"), said("something else")) == (AskModel(),)
    assert driver.events == ["run.ended", "run.started", "turn.started"]
    assert driver.user_text == "something else"


def test_a_message_before_a_stop_waits_for_the_next_run() -> None:
    driver = asking()
    assert driver.take(said("first"), control("stopRun")) == (Park("idle"),)
    driver.take(said("second"))
    assert driver.user_text == "first\n\nsecond"


def test_a_stop_without_a_run_does_nothing() -> None:
    driver = Driver()
    assert driver.take(control("stopRun")) == (Park("idle"),)
    assert driver.events == []


def test_a_stop_hands_the_open_turn_back_and_asks_for_the_end_of_every_open_call() -> None:
    driver = asking(slots=1)
    driver.reply(
        call("work"),
        call("work_too", "b"),
        call("wait", "c"),
        call("wait_too", "d"),
        call(CANCEL, "e", '{"tool_call_id":"a"}'),
    )
    driver.take(finished("c3", done("seen")))
    decisions = driver.take(control("stopRun"))
    assert decisions == (Cancel(("c1", "c2", "c4"), "run cancelled", "user"), Park("idle"))
    shown = [(message.placeholder, message.text) for message in driver.tool_messages]
    assert shown[2] == (False, "seen")
    assert shown[4] == (False, '{"status":"interrupted","woken_by":"user"}')
    assert all(
        is_placeholder and '"detached":"interrupted"' in text for is_placeholder, text in (shown[0], shown[1], shown[3])
    )
    assert driver.transcript.messages()


def test_a_new_owner_asks_again_for_what_a_stop_left_open() -> None:
    driver = asking()
    driver.reply(call("work"), call("work_too", "b"))
    driver.take(control("stopRun"))
    driver.take(finished("c2", Outcome(state=CallState.CANCELLED)))
    assert driver.take(Acquired()) == (Cancel(("c1",), "run cancelled", "user"), Park("idle"))
    assert driver.take() == (Park("idle"),)


def test_ends_after_a_stop_are_told_with_the_next_request() -> None:
    driver = asking()
    driver.reply(call("work"))
    driver.take(control("stopRun"))
    assert driver.take(finished("c1", Outcome(state=CallState.CANCELLED)), notified("c1")) == (Park("idle"),)
    assert driver.take(said("again")) == (AskModel(),)
    assert "tool_call_id a (work) cancelled:\nasync tool call was cancelled" in driver.user_text
    assert driver.user_text.endswith("tool call a (work) notifies:\nlook")


def test_what_a_stop_left_waiting_is_never_published() -> None:
    driver = asking(slots=1)
    driver.reply(call("work"), call("work_too", "b"))
    driver.take(control("stopRun"))
    assert driver.take(finished("c1")) == (Park("idle"),)
    assert driver.tracked("c2").state is CallState.WAITING


def test_the_calls_of_a_stopped_run_hold_their_slots_until_they_have_ended() -> None:
    driver = asking(slots=1)
    driver.reply(call("work"))
    driver.take(control("stopRun"), said("anew"))
    driver.reply(call("work"))
    assert driver.last.decisions == (Wait(None),)
    assert driver.take(finished("c1", Outcome(state=CallState.CANCELLED)))[0] == Queue(("c2",))


def test_an_empty_answer_ends_the_run_and_is_left_out_of_later_requests() -> None:
    driver = asking()
    assert driver.reply(finish="stop") == (Park("idle"),)
    assert driver.log[-1] == AssistantEntry("")
    before = driver.transcript.count
    driver.begin_run("again")
    assert driver.transcript.count == before + 1


@pytest.mark.parametrize("count", [99, 100, 101, 250])
def test_a_large_turn_is_recorded_in_slices_that_a_commit_can_take(count: int) -> None:
    driver = asking(slots=2)
    driver.reply(*(call("work") for _ in range(count)))
    slices = [len(driver.last.records)]
    queued = [it for decision in driver.last.decisions if isinstance(decision, Queue) for it in decision.calls]
    while driver.session.unrecorded:
        driver.take()
        slices.append(len(driver.last.records))
        queued += [it for decision in driver.last.decisions if isinstance(decision, Queue) for it in decision.calls]
    assert (sum(slices), max(slices)) == (count, min(count, 100))
    assert queued == ["c1", "c2"]


def test_no_call_is_published_before_it_is_recorded() -> None:
    driver = asking(slots=500)
    driver.reply(*(call("work") for _ in range(101)))
    assert driver.last.decisions == (Queue(tuple(f"c{number}" for number in range(1, 101))), Again())
    assert driver.take() == (Queue(("c101",)), Wait(None))


def test_a_stop_amid_a_large_turn_answers_what_is_not_recorded_as_cancelled() -> None:
    driver = asking()
    driver.reply(*(call("wait") for _ in range(101)))
    (cancel, _) = driver.take(control("stopRun"))
    assert isinstance(cancel, Cancel)
    assert len(cancel.calls) == 100
    assert driver.tool_messages[-1].text == "async tool call was cancelled"
    assert (driver.session.unrecorded, driver.last.records) == ((), ())
