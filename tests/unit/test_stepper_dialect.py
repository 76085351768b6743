"""Asynchronous calls of the Responses dialect: left open, and answered on their own id whenever they end."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.unit.stepper_driver import (
    ANY_PROGRESS,
    ASK,
    CANCEL,
    STATUS,
    WAIT,
    Driver,
    call,
    control,
    done,
    finished,
    make_brief,
    said,
)

from errands_config.wire import CallState
from errands_orchestrator.arrivals import Answered, Begun, Replied
from errands_orchestrator.decisions import Answer, AskModel, Look, Wait
from errands_orchestrator.models.model import ModelCall, Reply
from errands_orchestrator.session import ToolsEntry


def driver(strategy: str = ANY_PROGRESS, **more: Any) -> Driver:
    """A session that has asked its first question, with a model that has asynchronous tools."""
    capabilities = [STATUS, CANCEL, WAIT, ASK]
    brief = make_brief(strategy, capabilities=capabilities, flavor="OpenAIResponses", async_tools=True, **more)
    driver = Driver(brief)
    driver.begin_run()
    return driver


def later(name: str, provider_id: str, arguments: str = "{}") -> ModelCall:
    return ModelCall(provider_id, name, arguments, is_async=True)


def items(driver: Driver) -> list[dict[str, Any]]:
    return json.loads(driver.transcript.messages())[2:]


def outputs(driver: Driver) -> list[tuple[str, str]]:
    return [(it["call_id"], it["output"]) for it in items(driver) if it.get("type") == "function_call_output"]


def test_the_model_is_asked_again_at_once_where_it_waits_for_nothing() -> None:
    it = driver()
    assert AskModel() in it.reply(later("never", "a"))
    assert items(it) == [{"type": "function_call", "call_id": "a", "name": "never", "arguments": "{}", "async": True}]
    assert not any(isinstance(decision, Look) for decision in it.last.decisions)


def test_a_late_result_is_the_output_of_its_call_and_no_notice() -> None:
    it = driver()
    it.reply(later("never", "a"), later("never", "b"))
    it.reply(text="They run.", finish="stop")
    it.take(finished("c2", done("second")))
    it.reply(text="One is there.", finish="stop")
    it.take(finished("c1", done("first")))
    assert outputs(it) == [("b", "second"), ("a", "first")]
    assert not [item for item in items(it) if item.get("role") == "user"]


def test_outputs_stand_before_what_people_say() -> None:
    it = driver("yieldWhenAllDone")
    it.reply(later("never", "a"), later("never", "b"))
    it.reply(text="They run.", finish="stop")
    it.take(finished("c1", done("first")), said("and?"))
    assert [item.get("output", item.get("content")) for item in items(it)[-2:]] == ["first", "and?"]


def test_results_that_are_there_are_handed_back_with_their_turn() -> None:
    it = driver()
    it.take(it.answer(later("work", "a"), call("wait", "b")))
    it.take(finished("c1", done("first")), finished("c2", done("second")))
    assert outputs(it) == [("a", "first"), ("b", "second")]


def test_a_call_that_the_answer_does_not_mark_gets_a_placeholder() -> None:
    it = driver()
    it.take(it.answer(call("never", "a"), later("never", "b")))
    it.bring()
    assert [(message.id, message.placeholder) for message in it.tool_messages] == [("a", True)]
    it.take(finished("c1", done("first")), finished("c2", done("second")), it.answer(text="hm"))
    assert it.user_text.endswith("tool_call_id a (never) completed:\nfirst")
    assert ("b", "second") in outputs(it)


@pytest.mark.parametrize("tool", ["wait", "gate", WAIT, "nobody"])
def test_what_was_not_offered_as_asynchronous_is_none(tool: str) -> None:
    it = driver()
    it.take(it.answer(later(tool, "a", '{"tool_call_ids":["x"]}')))
    assert not it.session.calls or not it.session.calls[0].is_async


def test_a_question_to_the_user_stays_open_until_it_is_answered() -> None:
    it = driver()
    assert AskModel() in it.reply(later(ASK, "q", '{"question":"which?"}'))
    it.reply(text="I asked.", finish="stop")
    assert it.last.decisions == (Wait(None, outside=True),)
    it.take(finished("c1", done('{"answered":true,"answer":"blue"}')))
    assert outputs(it) == [("q", '{"answered":true,"answer":"blue"}')]


def test_results_of_earlier_calls_come_before_the_status_of_a_wait() -> None:
    it = driver()
    it.reply(later("never", "a"), later("never", "b"))
    it.take(it.answer(call(WAIT, "w", '{"tool_call_ids":["a"]}'), call("wait", "s"), later("work", "l")))
    wait = it.session.asked[0]
    it.take(Begun(wait.id, ("c1",), it.now + 9000), finished("c4", done("sync")), finished("c5", done("late")))
    it.take(finished("c1", done("first")))
    assert [decision.call for decision in it.last.decisions if isinstance(decision, Answer)]
    it.take(Answered(wait.id, '{"status":"completed"}'))
    assert [name for name, _ in outputs(it)] == ["a", "s", "l", "w"]
    assert it.tracked("c2").is_async


def test_what_the_model_has_read_is_said_in_short_on_the_call() -> None:
    it = driver()
    it.reply(later("never", "a"), later("never", "b"))
    it.take(it.answer(call(STATUS, "s", '{"tool_call_id":"a"}')))
    asked = it.session.asked[0]
    it.take(Begun(asked.id))
    it.take(Answered(asked.id, "{}", read=("c1",)))
    it.take(finished("c1", done("first")), it.answer(text="hm", finish="stop"))
    it.take(finished("c2", done("second")))
    assert outputs(it)[-2:] == [("a", "result already read with get-tool-call-status"), ("b", "second")]


def test_a_call_that_was_run_again_says_so() -> None:
    it = driver()
    it.reply(later("never", "a"))
    arrival = finished("c1", done("first"))
    again = arrival.mail.model_copy(update={"starts": 2})
    it.take(type(arrival)(again), it.answer(text="hm", finish="stop"))
    assert outputs(it) == [("a", "(run again from the start after a restart)\nfirst")]


def test_a_run_that_is_stopped_leaves_its_calls_open_and_tells_their_ends_in_the_next() -> None:
    it = driver()
    it.take(it.answer(later("work", "a"), call("wait", "b")))
    it.take(control("stopRun"))
    assert it.tracked("c1").is_async
    ended = [finished(cid, done().model_copy(update={"state": CallState.CANCELLED})) for cid in ("c1", "c2")]
    it.take(*ended)
    it.take(said("go on"))
    assert ("a", "async tool call was cancelled") in outputs(it)


def test_ids_that_earlier_calls_have_are_given_a_number() -> None:
    it = driver()
    it.reply(later("never", "a"), later("never", "a"), later("never", ""))
    used = it.transcript.used(["a", "a", "", "b"])
    assert used == {"a", "a~2", "call~1"}
    made = tuple(later("never", name) for name in ("a", "a", "", "b"))
    it.take(Replied(Reply("", made, "tool_calls"), ("d1", "d2", "d3", "d4"), used=used))
    made_ids = [item["call_id"] for item in items(it) if item.get("type") == "function_call"]
    assert made_ids == ["a", "a~2", "call~1", "a~3", "a~4", "call~2", "b"]


def test_nothing_is_logged_for_a_turn_that_answers_nothing() -> None:
    it = driver()
    it.reply(later("never", "a"))
    assert not any(isinstance(entry, ToolsEntry) for entry in it.log)


def test_a_call_that_was_left_open_is_answered_also_when_the_model_has_lost_asynchronous_tools() -> None:
    it = driver()
    it.reply(later("never", "a"))
    it.brief = replace(it.brief, async_tools=False)
    it.take(it.answer(later("never", "b")))
    it.bring()
    it.reply(text="They run.", finish="stop")
    it.take(finished("c1", done("first")), finished("c2", done("second")))
    assert ("a", "first") in outputs(it)
    assert it.user_text.endswith("tool_call_id b (never) completed:\nsecond")
