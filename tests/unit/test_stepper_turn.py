"""Registering the calls of an answer: ids, arguments, refusals, policy, records."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.stepper_driver import ANY_PROGRESS, SCHEMA, STATUS, Driver, call, done, finished, make_brief, make_offer

from errands_config.wire import CallState
from errands_orchestrator.arguments import read_arguments
from errands_orchestrator.decisions import AskModel, Queue, Wait
from errands_orchestrator.made_call import unique_ids
from errands_orchestrator.models.model import ModelCall
from errands_orchestrator.session import AssistantEntry, NewCall

NEEDS_X = '{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}'


def started(**more: object) -> Driver:
    offers = [make_offer("needs_x", NEEDS_X, queue="heavy", timeout_seconds=20.0), make_offer("plain", "{}")]
    driver = Driver(make_brief(ANY_PROGRESS, offers=offers, **more))  # pyright: ignore[reportArgumentType]
    driver.begin_run()
    return driver


def newest_answer(driver: Driver) -> AssistantEntry:
    return next(entry for entry in reversed(driver.log) if isinstance(entry, AssistantEntry))


def record(driver: Driver, *calls: ModelCall) -> NewCall:
    driver.reply(*calls)
    return driver.last.records[-1]


# ---- ids -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        (["a", "b"], ["a", "b"]),
        (["a", "a", "a"], ["a", "a~2", "a~3"]),
        (["", ""], ["call~1", "call~2"]),
        (["", "call~1"], ["call~2", "call~1"]),
        (["a", "a", "a~2"], ["a", "a~3", "a~2"]),
        (["a~2", "a", "a"], ["a~2", "a", "a~3"]),
        (["a", "a", "a~2", "a~2"], ["a", "a~3", "a~2", "a~2~2"]),
        (["call", "", "call"], ["call", "call~1", "call~2"]),
        (["  ", "\n", "a\nb\0"], ["call~1", "call~2", "ab"]),
        (["functions.x:0/../a b?#%2f"], ["functions.x:0/../a b?#%2f"]),
    ],
)
def test_ids_stay_the_providers_own_unless_they_are_empty_or_equal(sent: list[str], shown: list[str]) -> None:
    assert unique_ids(sent) == shown


@given(st.lists(st.text("a~123", max_size=4) | st.sampled_from(["", "call", "call~1"]), max_size=12))
def test_ids_are_never_empty_and_never_equal_within_a_message(sent: list[str]) -> None:
    shown = unique_ids(sent)
    assert len(set(shown)) == len(shown) == len(sent)
    assert all(shown)
    first = {own: position for position, own in reversed(list(enumerate(sent)))}
    assert all(shown[position] == own for own, position in first.items() if own)


def test_calls_with_missing_or_equal_ids_each_run_once_and_are_answered_in_model_order() -> None:
    driver = started(slots=9)
    ids = ["a", "a", "", "", "work"]
    assert driver.reply(*(call("work", provider_id) for provider_id in ids))[0] == Queue(("c1", "c2", "c3", "c4", "c5"))
    for number in (5, 3, 1, 2, 4):
        driver.take(finished(f"c{number}", done(f"result {number}")))
    driver.bring()
    assert [shown.id for shown in newest_answer(driver).calls] == ["a", "a~2", "call~1", "call~2", "work"]
    assert [message.id for message in driver.tool_messages] == [shown.id for shown in newest_answer(driver).calls]
    assert driver.tool_messages[4].text == "result 5"
    driver.reply(text="ok", finish="stop")
    told = {message.text for message in driver.tool_messages} | set(driver.user_text.split("\n"))
    assert {f"result {number}" for number in range(1, 6)} <= told


def test_an_id_that_comes_again_in_a_later_turn_is_another_call() -> None:
    driver = started()
    for turn in (1, 2):
        driver.reply(call("work", "same", '{"x":1}'))
        driver.take(finished(f"c{turn}", done(f"turn {turn}")))
        assert (driver.tool_messages[0].id, driver.tool_messages[0].text) == ("same", f"turn {turn}")


def test_equal_calls_are_both_run_in_one_turn_and_again_in_the_next() -> None:
    driver = started()
    for turn in (0, 2):
        driver.reply(call("wait", "a", '{"x":1}'), call("wait", "b", '{"x":1}'))
        assert [made.arguments for made in driver.last.records] == ['{"x":1}', '{"x":1}']
        assert driver.take(finished(f"c{turn + 1}")) == (Queue((f"c{turn + 2}",)), Wait(None))
        driver.take(finished(f"c{turn + 2}"))


# ---- arguments -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sent", ["", " ", "\n\t", "null", " null ", "{}"])
def test_no_arguments_are_read_as_an_empty_object_and_stand_so_in_history(sent: str) -> None:
    driver = started()
    made = record(driver, call("plain", arguments=sent))
    assert (made.arguments, made.outcome) == ("{}", None)
    assert newest_answer(driver).calls[0].arguments == "{}"


def test_no_arguments_where_the_tool_needs_some_are_an_error_that_says_what_is_wanted() -> None:
    driver = started()
    assert driver.reply(call("needs_x", arguments="")) == (AskModel(),)
    assert driver.tool_messages[0].text == f'invalid arguments: "x" is a required property; the schema is {NEEDS_X}'


UNREADABLE = [
    ("{", "not valid JSON at line 1, column 2: "),
    ('{"x":1}{"x":2}', "not valid JSON at line 1, column 8: "),
    ("[1]", "a JSON object is expected"),
    ('"text"', "a JSON object is expected"),
    ("7", "a JSON object is expected"),
    ('{"x":1,"x":2}', "a key stands there twice"),
    ('{"deep":{"y":1,"y":1}}', "a key stands there twice"),
    ('{"x":NaN}', "not valid JSON at line 1, column 6: "),
    ('{"x":Infinity}', "not valid JSON at line 1, column 6: "),
    ('{"x":1e999}', "not valid JSON at line 1, column 6: "),
    ('{"x":"\\ud800"}', "not valid JSON at line 1, column "),
    ('{"x":"\ud800"}', "not valid JSON at line 1, column 1: "),
    ("{'x':1}", "not valid JSON at line 1, column 2: "),
    ('{"x":' * 2000 + "1" + "}" * 2000, "not valid JSON at line 1, column "),
    ('{"x":' * 1000 + "1" + "}" * 1000, ""),
]


@pytest.mark.parametrize(("sent", "why"), UNREADABLE, ids=range(len(UNREADABLE)))
def test_what_is_no_json_object_never_runs_and_stands_readable_in_history(sent: str, why: str) -> None:
    driver = started()
    made = record(driver, call("plain", arguments=sent))
    assert made.outcome
    assert made.outcome.error.startswith(f"invalid arguments: {why}")
    assert driver.tool_messages[0].text.startswith(f"invalid arguments: {why}")
    assert list(json.loads(newest_answer(driver).calls[0].arguments)) == ["_unreadable"]
    assert driver.transcript.messages()


def test_what_is_unreadable_is_shown_clean_and_cut_to_two_thousand_characters() -> None:
    arguments = read_arguments("\x1b[2J" + "x" * 5000, None)
    assert json.loads(arguments.text) == {"_unreadable": "x" * 2000}
    assert arguments.value is None


def test_an_object_that_breaks_the_schema_never_runs_and_stands_as_it_was() -> None:
    driver = started()
    sent = '{ "x" : "seven" }'
    made = record(driver, call("needs_x", arguments=sent))
    assert made.arguments == sent
    assert made.outcome
    assert driver.tool_messages[0].text == (
        f'invalid arguments: at /x: "seven" is not of type "integer"; the schema is {NEEDS_X}'
    )


def test_a_whole_number_of_any_size_passes() -> None:
    assert read_arguments(f'{{"x":{10**30}}}', NEEDS_X).fault == ""


def test_what_is_said_about_arguments_is_bounded() -> None:
    many = json.dumps({f"k{number}": "v" * 5000 for number in range(50)})
    schema = json.dumps({"type": "object", "additionalProperties": {"type": "integer"}, "description": "d" * 9000})
    assert len(read_arguments(many, schema).fault) < 3 * 320 + 1100


@pytest.mark.parametrize("schema", ['{"type":"nothing"}', "{", '{"$ref":"http://localhost:1/schema"}'])
def test_a_schema_that_cannot_be_used_refuses_the_call_and_asks_nobody(schema: str) -> None:
    assert read_arguments("{}", schema).fault.startswith("the tool's own schema cannot be used: ")


@given(st.text() | st.from_regex(r"\{.*\}"))
def test_whatever_was_sent_what_stands_in_history_is_an_object(sent: str) -> None:
    arguments = read_arguments(sent, SCHEMA)
    assert isinstance(json.loads(arguments.text), dict)
    assert arguments.fault or isinstance(arguments.value, dict)


# ---- refusals --------------------------------------------------------------------------------------------------


def test_a_tool_that_was_not_offered_is_refused_and_its_record_is_born_final() -> None:
    driver = started()
    made = record(driver, call("rm -rf /", arguments="{}"))
    assert made.outcome
    assert (made.tool, made.outcome.state, made.outcome.error) == (
        "rm_-rf__",
        CallState.FAILED,
        "unknown tool: rm -rf /",
    )
    assert driver.tool_messages[0].text == "unknown tool: rm -rf /"
    assert driver.transcript.messages()


def test_no_call_of_a_message_that_was_cut_off_is_run() -> None:
    driver = started()
    calls = (call("plain", "a"), call("wait", "b", '{"x":'), call("nothing", "c"), call(STATUS, "d", "{}"))
    assert driver.reply(*calls, finish="length") == (AskModel(),)
    assert {message.text for message in driver.tool_messages} == {"invalid arguments: the message was cut off"}
    assert not any(message.placeholder for message in driver.tool_messages)


def test_a_refused_call_beside_a_good_one_ends_only_itself() -> None:
    driver = started()
    assert driver.reply(call("wait", "a"), call("wait", "b", "{"), call("wait", "c"))[0] == Queue(("c1",))
    assert driver.take(finished("c1")) == (Queue(("c3",)), Wait(None))


def test_a_refused_background_call_is_news_for_a_strategy_that_waits_for_the_first() -> None:
    driver = started()
    driver.reply(call("work", "a"), call("work", "b", "{"))
    driver.bring()
    assert [message.placeholder for message in driver.tool_messages] == [True, False]


# ---- policy ----------------------------------------------------------------------------------------------------


def test_the_queue_and_the_limit_of_the_tool_hold_where_the_policy_names_none_or_a_longer_one() -> None:
    made = record(started(asyncCallTimeoutSeconds=900), call("needs_x", arguments='{"x":1}'))
    assert (made.queue, made.policy.timeout_seconds) == ("heavy", 20.0)


def test_the_queue_and_the_limit_of_the_policy_win_where_they_are_named_or_shorter() -> None:
    policy = {
        "default": {"tag": "runSync"},
        "rules": [{"tool": "needs_x", "disposition": {"tag": "runAsync", "queue": "own"}}],
    }
    made = record(started(asyncCallTimeoutSeconds=5, toolCallPolicyConfig=policy), call("needs_x", arguments='{"x":1}'))
    assert (made.queue, made.policy.timeout_seconds, made.policy.disposition) == ("own", 5, "runAsync")


def test_arguments_too_deep_for_the_schemas_reader_are_refused_in_words() -> None:
    schema = '{"type":"object","properties":{"value":{"type":"string"}}}'

    read = read_arguments('{"value":' + "[" * 600 + "]" * 600 + "}", schema)

    assert read.fault.startswith("nested too deeply to be checked")


def test_a_tool_that_may_run_again_does_so_unless_the_policy_says_how_often() -> None:
    mine = make_offer("mine", rerun_times=2)
    wrapper = {"match": {"tool": "mine"}, "decorators": [{"tag": "rerunOnRestart", "times": 5}]}
    for wrappers, times in (([], 2), ([wrapper], 5)):
        rules = {"default": {"tag": "runAsync"}, "wrappers": wrappers}
        driver = Driver(make_brief(offers=[mine], toolCallPolicyConfig=rules))
        driver.begin_run()
        driver.take(driver.answer(call("mine"), call("work", "b")))
        assert [record.policy.rerun_times for record in driver.last.records] == [times, 0]
