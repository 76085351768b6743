"""Globs and predicates, each against a second evaluator that is as naive as can be."""

from __future__ import annotations

import itertools
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue, TypeAdapter
from tests.unit.naive_predicate import ARGUMENTS, PREDICATES, naive_glob, naive_holds, naive_places

from errands_config.compiled_predicate import compiled
from errands_config.glob import matches
from errands_config.predicate import Predicate

PREDICATE: TypeAdapter[Predicate] = TypeAdapter(Predicate)


def true_of(written: dict[str, Any], arguments: JsonValue) -> bool:
    return compiled(PREDICATE.validate_python(written))(arguments)


@given(PREDICATES, ARGUMENTS)
def test_a_predicate_holds_where_a_naive_evaluator_says_so(written: dict[str, Any], arguments: JsonValue) -> None:
    assert true_of(written, arguments) == naive_holds(written, arguments)


@given(ARGUMENTS, st.data())
def test_what_stands_at_a_place_is_equal_to_itself(arguments: JsonValue, data: st.DataObject) -> None:
    places = {
        steps: value for steps, value in naive_places(arguments).items() if not any("." in step for step in steps)
    }
    steps = data.draw(st.sampled_from([steps for steps in places if steps != ("",)]))
    assert true_of({"path": ".".join(steps), "equals": places[steps]}, arguments)


@given(st.text("ab*\n", max_size=6), st.text("ab*\n", max_size=8))
def test_a_glob_matches_where_a_naive_matcher_says_so(pattern: str, text: str) -> None:
    assert matches(pattern, text) == naive_glob(pattern, text)


def test_globs_agree_on_every_short_pattern_and_text() -> None:
    for pattern in map("".join, itertools.chain.from_iterable(itertools.product("a*b", repeat=n) for n in range(5))):
        for text in map("".join, itertools.chain.from_iterable(itertools.product("ab", repeat=n) for n in range(5))):
            assert matches(pattern, text) == naive_glob(pattern, text), (pattern, text)


def test_a_glob_is_never_slow() -> None:
    started = time.process_time()
    assert not matches("*a" * 2_000 + "*b*", "a" * 200_000)
    assert time.process_time() - started < 1


@pytest.mark.parametrize(
    ("pattern", "text", "matched"),
    [
        ("http_*", "http_get", True),
        ("http_*", "http_", True),
        ("http_*", "xhttp_get", False),
        ("bash_?", "bash_a", False),
        ("[ab]", "a", False),
        ("a*a", "a", False),
        ("A", "a", False),
        ("*", "", True),
    ],
)
def test_only_the_star_is_special_and_both_ends_are_anchored(pattern: str, text: str, matched: bool) -> None:
    assert matches(pattern, text) is matched


PRODUCTION = {"all": [{"path": "env", "equals": "production"}, {"not": {"path": "dry_run", "equals": True}}]}


@pytest.mark.parametrize(
    ("arguments", "held"),
    [
        ({"env": "production"}, True),
        ({"env": "production", "dry_run": False}, True),
        ({"env": "production", "dry_run": 1}, True),
        ({"env": "production", "dry_run": True}, False),
        ({"env": "staging"}, False),
        (None, False),
    ],
)
def test_the_predicate_of_the_seed_covers_calls_that_leave_a_key_out(arguments: JsonValue, held: bool) -> None:
    assert true_of(PRODUCTION, arguments) is held


@pytest.mark.parametrize(
    ("written", "arguments", "held"),
    [
        ({"path": "options.targets.0", "equals": "x"}, {"options": {"targets": ["x"]}}, True),
        ({"path": "options.targets.1", "exists": False}, {"options": {"targets": ["x"]}}, True),
        ({"path": "a", "exists": True}, {"a": None}, True),
        ({"path": "", "exists": True}, None, True),
        ({"path": "", "equals": {"a": 1}}, {"a": 1.0}, True),
        ({"path": "a", "glob": "*"}, {"a": 1}, False),
        ({"path": "a.b", "glob": "*"}, {"a": "b"}, False),
        ({"path": "a", "equals": 1}, {"a": True}, False),
        ({"path": "a", "equals": [1]}, {"a": [1, 2]}, False),
        ({"path": "a", "equals": {"b": 1}}, {"a": {"b": 1, "c": 2}}, False),
        ({"path": "a.00", "exists": True}, {"a": ["x"]}, False),
        ({"path": "a.-1", "exists": True}, {"a": ["x"]}, False),
        ({"path": "a.00", "exists": True}, {"a": {"00": "x"}}, True),
        ({"all": []}, None, True),
        ({"any": []}, None, False),
    ],
)
def test_paths_and_operators_are_as_the_contract_says(
    written: dict[str, Any], arguments: JsonValue, held: bool
) -> None:
    assert true_of(written, arguments) is held
