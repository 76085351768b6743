"""What becomes of background calls when a run ends or is stopped, and mail inside tool results."""

from __future__ import annotations

from tests.unit.stepper_driver import (
    ANY_PROGRESS,
    RUNNING,
    Driver,
    call,
    control,
    done,
    finished,
    mail,
    make_brief,
    notified,
    said,
)

from errands_config.wire import CallState, Outcome
from errands_orchestrator.decisions import AskModel, Cancel, Park, Queue, Wait
from errands_orchestrator.session import Phase


def resting(slots: int = 4, **agent: object) -> Driver:
    """A driver whose model has started two background calls and ended its turn."""
    driver = Driver(make_brief(slots=slots, **agent))  # pyright: ignore[reportArgumentType]
    driver.begin_run()
    driver.reply(call("never", "a"), call("never", "b"))
    driver.bring()
    driver.reply(text="they run")
    return driver


def test_a_run_waits_for_its_background_calls_by_default() -> None:
    driver = resting()
    assert driver.last.decisions == (Wait(None),)
    driver.take(finished("c1"))
    assert driver.take(finished("c2")) == (AskModel(),)


def test_a_run_that_cancels_at_its_end_asks_for_the_end_of_what_is_open() -> None:
    driver = resting(onRunEnd="cancel")
    assert driver.last.decisions == (Cancel(("c1", "c2"), "run ended", "system"), Park("idle"))
    assert driver.session.phase is Phase.IDLE
    driver.take(finished("c1", Outcome(state=CallState.CANCELLED)), finished("c2", done("made it")))
    assert driver.last.decisions == (Park("idle"),)
    driver.take(said("and?"))
    assert driver.user_text.count("cancelled:") == 1
    assert "made it" in driver.user_text


def test_calls_that_a_run_leaves_behind_go_on_and_wake_nobody() -> None:
    driver = resting(slots=1, onRunEnd="detach")
    assert driver.last.decisions == (Park("idle"),)
    assert driver.take(finished("c1", done("late news"))) == (Queue(("c2",)), Park("idle"))
    assert driver.take(said("what came of it?")) == (AskModel(),)
    assert driver.user_text.startswith("what came of it?")
    assert "late news" in driver.user_text


def test_words_that_wait_go_before_the_end_of_a_run() -> None:
    driver = Driver(make_brief(onRunEnd="detach"))
    driver.begin_run()
    driver.reply(call("never"))
    driver.bring()
    assert driver.take(said("one more"), driver.answer(text="bye")) == (AskModel(),)


def test_a_stopped_run_keeps_its_calls_where_the_agent_says_so() -> None:
    driver = Driver(make_brief(onRunFailure="keep", slots=1))
    driver.begin_run()
    driver.reply(call("work", "a"), call("work_too", "b"))
    assert driver.take(control("stopRun")) == (Park("idle"),)
    assert driver.take(finished("c1")) == (Queue(("c2",)), Park("idle"))


# ---- mail in a tool result


def test_mail_joins_the_last_result_of_the_turn_and_makes_no_message_of_its_own() -> None:
    driver = Driver(make_brief(mailInToolResult=True, strategy=ANY_PROGRESS))
    driver.begin_run()
    driver.reply(call("work", "a"), call("work_too", "b"))
    before = len(driver.log)
    driver.take(notified("c2", "half way", "n7"), finished("c1"))
    driver.bring()
    assert driver.tool_messages[0].text == (
        "fine\n\n[mail n7 from tool call c2]\ntool call b (work_too) notifies:\nhalf way"
    )
    assert driver.tool_messages[1].placeholder
    assert len(driver.log) == before + 1
    assert driver.session.heard == 2


def test_a_persons_words_stay_a_user_message() -> None:
    driver = Driver(make_brief(mailInToolResult=True))
    driver.begin_run()
    driver.reply(call("work"))
    driver.take(said("by the way"), finished("c1"))
    driver.bring()
    assert driver.tool_messages[0].text == "fine"
    assert driver.user_text == "by the way"


def test_mail_of_a_turn_without_a_result_is_a_user_message() -> None:
    driver = Driver(make_brief(mailInToolResult=True))
    driver.begin_run()
    driver.reply(call("never"))
    driver.take(mail("agentMessage", "psst", sender="s2", expects_reply=True))
    driver.bring()
    assert driver.user_text.endswith("from session s2, expects reply]\npsst")


def test_the_answer_of_a_capability_takes_mail_too() -> None:
    driver = Driver(make_brief(mailInToolResult=True, capabilities=[RUNNING]))
    driver.begin_run()
    driver.reply(call(RUNNING))
    driver.take(mail("agentMessage", "psst", sender="s2"))
    driver.bring()
    assert driver.tool_messages[0].text.endswith("psst")
