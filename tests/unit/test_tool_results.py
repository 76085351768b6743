"""Values of tools as JSON, and exceptions as words."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from errands_config.wire import CallState
from errands_workers.json_text import NotJsonError, json_text
from errands_workers.kinds.function import completed, failure, unspeakable

FOREIGN = ("\x00", "\x1b", "\x7f", "\x9b", "\u202e", "\ud800")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text("ab\u00e9"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc"), inner, max_size=4),
)


@given(JSON)
def test_a_json_value_arrives_unchanged(value: Any):
    assert json.loads(json_text(value)) == value


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_no_string_in_a_result_holds_what_the_gate_takes_out(value: Any):
    text = json.dumps(json.loads(json_text(value)), ensure_ascii=False)
    assert not any(mark in text or json.dumps(mark)[1:-1] in text.replace("\\\\", "") for mark in FOREIGN)


@dataclass
class Plain:
    at: datetime


class Model(BaseModel):
    names: set[str]


def test_dataclasses_models_dates_and_sets_are_known():
    assert json_text(Plain(datetime(2026, 1, 2, tzinfo=UTC))) == '{"at":"2026-01-02T00:00:00Z"}'
    assert json_text([Model(names={"a"}), (1,), {2}]) == '[{"names":["a"]},[1],[2]]'


def _ring() -> list[Any]:
    ring: list[Any] = []
    ring.append(ring)
    return ring


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (float("nan"), "it holds nan"),
        ({"a": [float("-inf")]}, "it holds -inf"),
        (b"a", "it holds bytes"),
        ({"a": (bytearray(b"x"),)}, "it holds bytearray"),
        ({b"k": 1}, "it holds bytes"),
        (object(), "Unable to serialize unknown type"),
        (_ring(), "or a ring"),
        (json.loads("[" * 300 + "]" * 300), "nested more than 100 levels"),
    ],
)
def test_what_json_cannot_say_is_refused_in_words(value: Any, text: str):
    with pytest.raises(NotJsonError, match=text):
        json_text(value)
    outcome = completed(value)
    assert (outcome.state, outcome.error_kind) == (CallState.FAILED, "result not JSON")


def test_in_news_a_number_that_is_none_is_null():
    assert json_text({"loss": float("nan")}, constants=True) == '{"loss":null}'


def test_text_that_only_looks_suspicious_is_kept():
    assert json.loads(json_text("NaN \\u0000 Infinity")) == "NaN \\u0000 Infinity"


def test_text_is_a_result_as_it_is_also_of_a_subclass():
    class Name(str):
        __slots__ = ()

    assert completed(Name("x")).result == "x"
    assert (completed("").result, completed("").result_type) == ("", "text")


def test_a_failure_names_the_class_and_tells_the_text():
    assert failure(KeyError("k")).error == "KeyError: 'k'"
    assert failure(ValueError()).error == "ValueError"
    assert failure(ExceptionGroup("two", [ValueError("a"), OSError()])).error == (
        "ExceptionGroup: two (2 sub-exceptions); ValueError: a; OSError: "
    )


def test_a_failure_without_a_readable_text_names_both_classes():
    outcome = unspeakable(ValueError("x"), RuntimeError("y"))
    assert (outcome.error_kind, outcome.error) == ("ValueError", "ValueError (its text cannot be read: RuntimeError)")
