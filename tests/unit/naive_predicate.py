"""A second reading of globs and predicates, as naive as can be, and what it is asked about."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, TypeAlias

from hypothesis import strategies as st
from pydantic import JsonValue


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


def naive_holds(written: dict[str, Any], arguments: JsonValue) -> bool:
    return _naive(written, naive_places(arguments))


def _naive(written: dict[str, Any], places: Places) -> bool:
    if "path" in written:
        steps = tuple(written["path"].split(".")) if written["path"] else ()
        there, value = steps in places, places.get(steps)
        if "exists" in written:
            return there is written["exists"]
        if "equals" in written:
            return there and naive_form(value) == naive_form(written["equals"])
        return there and isinstance(value, str) and naive_glob(written["glob"], value)
    if "not" in written:
        return not _naive(written["not"], places)
    if "all" in written:
        return all(_naive(part, places) for part in written["all"])
    return any(_naive(part, places) for part in written["any"])


_KEYS = st.sampled_from(["a", "b", "0", "1", "00", "-1", "", "a.b"])
_SCALARS = st.sampled_from([None, True, False, 0, 1, 1.0, 2, "", "a", "ab", "aab", "rm x"])
ARGUMENTS = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3), max_leaves=6
)
_PATHS = st.lists(_KEYS, max_size=3).map(".".join)
PREDICATES = st.recursive(
    st.fixed_dictionaries({"path": _PATHS, "equals": ARGUMENTS})
    | st.fixed_dictionaries({"path": _PATHS, "glob": st.text("ab*", max_size=4)})
    | st.fixed_dictionaries({"path": _PATHS, "exists": st.booleans()}),
    lambda inner: (
        st.fixed_dictionaries({"all": st.lists(inner, max_size=3)})
        | st.fixed_dictionaries({"any": st.lists(inner, max_size=3)})
        | st.fixed_dictionaries({"not": inner})
    ),
    max_leaves=5,
)
