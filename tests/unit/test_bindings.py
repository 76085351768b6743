"""Bound arguments on the worker: how they are merged, and how secrets are cut out of what a tool says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from urllib.parse import quote, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands_config.wire import CallState, Outcome
from errands_workers.bindings import Given, merged
from errands_workers.scrubbing import scrubbed, scrubbed_outcome

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(TEXT, JSON, max_size=4)
# letters that stand in no marker, and what JSON escapes
SECRETS = st.dictionaries(
    st.sampled_from(["A", "B", "C"]), st.text(st.sampled_from('xyz"\\\n\té€😀'), min_size=4, max_size=9), min_size=1
).filter(lambda secrets: all(len(value.strip()) >= 4 for value in secrets.values()))
AROUND = st.text(st.sampled_from('xyz"\\ \n,.é'), max_size=6)
EASY, HARD = "it's", "a'b\\c\"d/é\xa0&e"


# ---- merging


@given(OBJECTS, OBJECTS, st.sets(TEXT, max_size=2))
def test_what_is_bound_wins_and_everything_else_stays(
    sent: dict[str, object], bound: dict[str, object], without: set[str]
) -> None:
    text = merged(json.dumps(sent), Given(values=bound, left_out=frozenset(without)))  # pyright: ignore[reportArgumentType]
    kept = {name: value for name, value in sent.items() if name not in without}
    assert json.loads(text) == {**kept, **bound}


@given(OBJECTS)
def test_without_bound_arguments_the_text_keeps_its_bytes(sent: dict[str, object]) -> None:
    text = json.dumps(sent, indent=3)
    assert merged(text, Given()) == text


def test_an_argument_that_is_left_out_is_not_the_models_either() -> None:
    assert merged('{"a":1,"key":"mine"}', Given(left_out=frozenset({"key"}))) == '{"a":1}'


def test_what_a_call_is_given_shows_no_value_in_its_repr() -> None:
    given_values = Given(values={"key": "swordfish", "city": "Lima"}, secrets={"KEY": "swordfish"})
    assert "swordfish" not in repr(given_values)
    assert "Lima" not in f"{given_values}"


# ---- cutting out


@given(SECRETS, st.data())
def test_no_secret_is_left_wherever_and_however_often_it_stands(
    secrets: Mapping[str, str], data: st.DataObject
) -> None:
    parts = st.sampled_from([*secrets.values(), *(json.dumps(value)[1:-1] for value in secrets.values())]) | AROUND
    text = "".join(data.draw(st.lists(parts, max_size=8)))
    clear = scrubbed(text, secrets)
    for value in secrets.values():
        assert value not in clear
        assert json.dumps(value)[1:-1] not in clear
        assert json.dumps(value, ensure_ascii=False)[1:-1] not in clear


@given(SECRETS, AROUND)
def test_a_text_without_a_secret_keeps_every_character(secrets: Mapping[str, str], text: str) -> None:
    plain = (
        text.replace("x", "a").replace("y", "b").replace("z", "c").replace("é", "e").replace("\\", "").replace('"', "")
    )
    assert scrubbed(plain, {name: f"x{value}" for name, value in secrets.items()}) == plain


@given(SECRETS, OBJECTS)
def test_json_with_secrets_in_its_strings_stays_json(secrets: Mapping[str, str], content: dict[str, object]) -> None:
    told = {**content, **{f"{name}-of": value for name, value in secrets.items()}}
    for text in (json.dumps(told), json.dumps(told, ensure_ascii=False)):
        clear = json.loads(scrubbed(text, secrets))
        for name in secrets:
            assert "[secret " in clear[f"{name}-of"]


@pytest.mark.parametrize(
    ("text", "secrets", "clear"),
    [
        ("the key is swordfish.", {"KEY": "swordfish"}, "the key is [secret KEY]."),
        ("swordfishswordfish", {"KEY": "swordfish"}, "[secret KEY][secret KEY]"),
        ("abc", {"KEY": "abc"}, "abc"),
        ("abcd", {"KEY": "abcd"}, "[secret KEY]"),
        ("long-secret", {"SHORT": "long", "WHOLE": "long-secret"}, "[secret WHOLE]"),
        ("one-two-six", {"A": "one-two", "B": "two-six"}, "[secret A]"),
        ('"a\\"b c"', {"KEY": 'a"b c'}, '"[secret KEY]"'),
        ("line one\\nline two", {"KEY": "line one\nline two"}, "[secret KEY]"),
        ("'" + json.dumps(json.dumps('"quoted"')[1:-1])[1:-1] + "'", {"KEY": '"quoted"'}, "'[secret KEY]'"),
        ("Stra\\u00dfe", {"KEY": "Straße"}, "[secret KEY]"),
        ("token", {"KEY": "  token\n"}, "[secret KEY]"),
        (repr(HARD), {"KEY": HARD}, "'[secret KEY]'"),
        (ascii(HARD), {"KEY": HARD}, "'[secret KEY]'"),
        (repr(HARD.encode()), {"KEY": HARD}, "b'[secret KEY]'"),
        (repr({"with": f"{HARD}!"}), {"KEY": HARD}, "{'with': '[secret KEY]!'}"),
        (json.dumps(repr([HARD])), {"KEY": HARD}, "\"['[secret KEY]']\""),
        (repr(f"'\"{EASY}"), {"KEY": EASY}, "'\\'\"[secret KEY]'"),
        (f"/?key={quote(HARD)}", {"KEY": HARD}, "/?key=[secret KEY]"),
        (urlencode({"key": HARD}), {"KEY": HARD}, "key=[secret KEY]"),
        ("https://me:a%2Fb%40c@host", {"KEY": "a/b@c"}, "https://me:[secret KEY]@host"),
        ("swordfish", {}, "swordfish"),
        ("", {"KEY": "swordfish"}, ""),
    ],
)
def test_secrets_are_cut_out_in_every_form_that_they_come_in(text: str, secrets: dict[str, str], clear: str) -> None:
    assert scrubbed(text, secrets) == clear


def test_a_json_result_in_which_a_secret_was_a_number_is_text_from_then_on() -> None:
    outcome = Outcome(state=CallState.COMPLETED, result='{"pin":4711}', result_type="json")
    clear = scrubbed_outcome(outcome, {"PIN": "4711"})
    assert (clear.result, clear.result_type) == ('{"pin":[secret PIN]}', "text")


def test_a_json_result_in_which_a_secret_was_a_string_stays_json() -> None:
    outcome = Outcome(state=CallState.COMPLETED, result='{"key":"swordfish"}', result_type="json")
    clear = scrubbed_outcome(outcome, {"KEY": "swordfish"})
    assert (json.loads(clear.result), clear.result_type) == ({"key": "[secret KEY]"}, "json")


def test_a_failure_tells_no_secret() -> None:
    outcome = Outcome(state=CallState.FAILED, error="401 for swordfish", error_kind="exit code 1", reason="swordfish")
    clear = scrubbed_outcome(outcome, {"KEY": "swordfish"})
    assert "swordfish" not in repr(clear)
    assert (clear.error, clear.error_kind) == ("401 for [secret KEY]", "exit code 1")


def test_without_secrets_an_outcome_is_the_same_value() -> None:
    outcome = Outcome(state=CallState.COMPLETED, result="ok")
    assert scrubbed_outcome(outcome, {}) is outcome
