"""What somebody outside hands in, and what they are shown: results, answers to questions, redacted arguments."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from errands_config.errors import InvalidArguments
from errands_config.text import clean, fits
from errands_config.wire import CallState
from errands_orchestrator.outside_result import Result, completed, read_result, result_of
from errands_orchestrator.questions import Question, answered, dismissed
from errands_orchestrator.redaction import fingerprint, redacted, restored

KEY = b"k" * 32
MEDIA = '{"type":"media","mimeType":"image/png","base64Data":"AA=="}'
scalars = st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8"))
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)
argument_sets = st.dictionaries(st.sampled_from(["path", "token", "to", "n"]), values)


# ---- results


def cleaned(value: JsonValue) -> JsonValue:
    """The value with every text in it as it passes the gate."""
    match value:
        case str():
            return clean(value).text
        case list():
            return [cleaned(item) for item in value]
        case dict():
            return {clean(key).text: cleaned(item) for key, item in value.items()}
        case _:
            return value


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("  deployed\n", Result("deployed")),
        ("\ufeffdeployed", Result("deployed")),
        ('{"type": "text", "content": " as it is\\n"}', Result(" as it is\n")),
        ('{"type": "text", "content": ""}', Result("")),
        ('{"type": "json", "content": {"n": [1, null, "é"]}}', Result('{"n":[1,null,"é"]}', "json")),
        ('{"type": "json", "content": 12345678901234567890123}', Result("12345678901234567890123", "json")),
        (f" {MEDIA}", Result(MEDIA, "json")),
        ('{"type": "mixed", "parts": []}', Result('{"type":"mixed","parts":[]}', "json")),
        ('{"type": "report", "content": "x"}', Result('{"type": "report", "content": "x"}')),
        ('{"type": "text"}', Result('{"type": "text"}')),
        ('{"type": "text", "content": "x", "more": 1}', Result('{"type": "text", "content": "x", "more": 1}')),
        ('"a string"', Result('"a string"')),
        ("42", Result("42")),
        ('{"type": "json", "content": NaN}', Result('{"type": "json", "content": NaN}')),
        ('{"type": "json", "content": 1e999}', Result('{"type": "json", "content": 1e999}')),
        ('{"type": "json", "content": ["a\\u009b", "\\u0000"]}', Result('["a","␀"]', "json")),
        ("{broken", Result("{broken")),
    ],
)  # fmt: skip
def test_a_result_file_is_tagged_json_or_else_trimmed_text(text: str, result: Result) -> None:
    assert read_result(text) == result


@given(values)
def test_a_value_is_a_result_that_reads_as_that_value(value: JsonValue) -> None:
    result = result_of(value)

    if isinstance(value, str):
        assert result.text == value
    else:
        assert json.loads(result.text) == cleaned(value)
    assert read_result(json.dumps({"type": result.type, "content": value})) == result


@given(values, st.integers(1, 100))
def test_a_result_is_stored_clean_and_whole_or_as_text_with_its_middle_cut_out(value: JsonValue, most: int) -> None:
    result = result_of(value)
    outcome = completed(result, most)

    assert outcome.state is CallState.COMPLETED
    if fits(outcome.result, most):
        assert outcome.result_type == result.type
        assert (json.loads if result.type == "json" else str)(outcome.result) == cleaned(value)
    else:
        assert (outcome.result_type, "its middle is left out" in outcome.result) == ("text", True)


@pytest.mark.parametrize("value", [math.nan, [math.inf], {"a": -math.inf}])
def test_what_json_does_not_have_is_no_result(value: JsonValue) -> None:
    with pytest.raises(InvalidArguments, match="NaN or an infinity"):
        result_of(value)


# ---- questions


def question(*choices: str, text: str = "Which one?") -> Question:
    return Question.of(json.dumps({"question": text, "choices": choices} if choices else {"question": text}))


@pytest.mark.parametrize(
    ("said", "meant"), [("red", "red"), (" blue\n", "blue"), ("1", "red"), ("2", "blue"), ("3", "3"), ("4", "4")]
)
def test_an_answer_is_a_choice_by_its_text_or_its_number(said: str, meant: str) -> None:
    assert question("red", "blue", "3", "4").answer(said) == meant


def test_a_choice_that_is_not_clean_can_be_chosen_and_is_stored_clean() -> None:
    asked = question(" red\x9b", "blue")

    assert asked.answer("red") == asked.answer("1")
    assert json.loads(answered(asked.answer("red")).result) == {"answered": True, "answer": " red"}


@pytest.mark.parametrize("said", ["green", "0", "3", "-1", "Red", "²", "9" * 5000])
def test_what_is_no_choice_is_refused_with_those_that_are(said: str) -> None:
    with pytest.raises(InvalidArguments, match="1 red; 2 blue"):
        question("red", "blue").answer(said)


@pytest.mark.parametrize("asked", [question(), question("red")])
@pytest.mark.parametrize("said", ["", " \n"])
def test_an_empty_answer_is_none(asked: Question, said: str) -> None:
    with pytest.raises(InvalidArguments, match="empty"):
        asked.answer(said)


def test_questions_end_with_json_that_says_whether_they_were_answered() -> None:
    ends = [json.loads(end.result) for end in (answered("two words"), dismissed("not now"), dismissed(" "))]

    assert ends == [
        {"answered": True, "answer": "two words"},
        {"answered": False, "reason": "not now"},
        {"answered": False, "reason": "dismissed"},
    ]
    assert all(end.result_type == "json" for end in (answered("a"), dismissed("b")))


def test_a_late_answer_names_its_question_on_one_short_line() -> None:
    assert question(text="Which\n one?").late("red") == 'Late answer to your question "Which one?": red'
    assert len(question(text="x" * 4000).late("red")) < 250


# ---- redaction


@given(argument_sets, st.sets(st.sampled_from(["path", "token", "absent"])))
def test_redacted_arguments_say_nothing_of_the_values_and_come_back_whole(
    arguments: dict[str, Any], names: set[str]
) -> None:
    shown = redacted(arguments, names, KEY)

    assert shown.keys() == arguments.keys()
    assert all(shown[name] == fingerprint(name, arguments[name], KEY) for name in names & arguments.keys())
    assert all(shown[name] == arguments[name] for name in arguments.keys() - names)
    assert restored(shown, arguments, names, KEY) == arguments


def test_a_redacted_value_can_be_replaced_and_a_foreign_fingerprint_is_a_value_like_any() -> None:
    original: dict[str, JsonValue] = {"token": "s3cret", "to": "prod"}
    strange = fingerprint("token", "other", KEY)

    assert restored({"token": "new", "to": "test"}, original, ["token"], KEY) == {"token": "new", "to": "test"}
    assert restored({"token": strange}, original, ["token"], KEY) == {"token": strange}


def test_a_fingerprint_depends_on_key_name_and_value() -> None:
    prints = {fingerprint(*one) for one in [("a", 1, KEY), ("a", "1", KEY), ("b", 1, KEY), ("a", 1, KEY[:31])]}

    assert len(prints) == 4
    assert all(one.startswith("[redacted ") for one in prints)
