"""Globs and predicates, each against a second evaluator that is as naive as can be."""

from __future__ import annotations

import itertools
import time
from fractions import Fraction
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue, TypeAdapter

from errands_config.glob import matches
from errands_config.predicate import Predicate, holds

PREDICATE: TypeAdapter[Predicate] = TypeAdapter(Predicate)


def true_of(written: dict[str, Any], arguments: JsonValue) -> bool:
    return holds(PREDICATE.validate_python(written), arguments)


def naive_glob(pattern: str, text: str) -> bool:
    if not pattern:
        return not text
    if pattern[0] == "*":
        return any(naive_glob(pattern[1:], text[start:]) for start in range(len(text) + 1))
    return text[:1] == pattern[0] and naive_glob(pattern[1:], text[1:])


Places: TypeAlias = dict[tuple[str, ...], JsonValue]


def naive_places(value: JsonValue) -> Places:
    """Every place of a value by its steps."""
    places: Places = {(): value}
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        places |= {(str(key), *steps): found for steps, found in naive_places(child).items()}
    return places


def naive_form(value: JsonValue) -> object:
    """A value in a form in which Python's equality is that of JSON."""
    match value:
        case dict():
            return frozenset((key, naive_form(item)) for key, item in value.items())
        case list():
            return tuple(map(naive_form, value))
        case bool() | str() | None:
            return (type(value), value)
        case _:
            return Fraction(value)


def naive_holds(written: dict[str, Any], places: Places) -> bool:
    if "path" in written:
        steps = tuple(written["path"].split(".")) if written["path"] else ()
        there, value = steps in places, places.get(steps)
        if "exists" in written:
            return there is written["exists"]
        if "equals" in written:
            return there and naive_form(value) == naive_form(written["equals"])
        return there and isinstance(value, str) and naive_glob(written["glob"], value)
    if "not" in written:
        return not naive_holds(written["not"], places)
    if "all" in written:
        return all(naive_holds(part, places) for part in written["all"])
    return any(naive_holds(part, places) for part in written["any"])


_KEYS = st.sampled_from(["a", "b", "0", "1", "00", "-1", "", "a.b"])
_SCALARS = st.sampled_from([None, True, False, 0, 1, 1.0, 2, "", "a", "ab", "aab", "rm x"])
_VALUES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3), max_leaves=6
)
_PATHS = st.lists(_KEYS, max_size=3).map(".".join)
_PREDICATES = st.recursive(
    st.fixed_dictionaries({"path": _PATHS, "equals": _VALUES})
    | st.fixed_dictionaries({"path": _PATHS, "glob": st.text("ab*", max_size=4)})
    | st.fixed_dictionaries({"path": _PATHS, "exists": st.booleans()}),
    lambda inner: (
        st.fixed_dictionaries({"all": st.lists(inner, max_size=3)})
        | st.fixed_dictionaries({"any": st.lists(inner, max_size=3)})
        | st.fixed_dictionaries({"not": inner})
    ),
    max_leaves=5,
)


@given(_PREDICATES, _VALUES)
def test_a_predicate_holds_where_a_naive_evaluator_says_so(written: dict[str, Any], arguments: JsonValue) -> None:
    assert true_of(written, arguments) == naive_holds(written, naive_places(arguments))


@given(_VALUES, st.data())
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
