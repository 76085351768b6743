"""Which lines of a long text are found, and that neither time nor the size of the answer gets out of hand."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands_orchestrator.searching import BadPattern, compiled, search

TEXTS = st.text("ab é\n", max_size=80)
EXPRESSIONS = st.sampled_from(["a", "^b", "é$", "ab|ba", "[^a]{3}", "^$", "a.b", "(?i)A", "x*"])


def never() -> bool:
    return False


def lines_of(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


@given(TEXTS, EXPRESSIONS)
def test_the_matching_lines_are_found_with_their_numbers(text: str, expression: str):
    wanted = [f"{n}: {line}" for n, line in enumerate(lines_of(text), 1) if re.search(expression, line)]
    found = search(text, 0, compiled(expression), 10_000, never)
    assert (list(found.lines), found.end) == (wanted, len(text))


@given(TEXTS, EXPRESSIONS, st.integers(1, 40), st.integers(0, 5))
def test_read_on_by_its_ends_a_search_finds_each_line_once_however_often_it_stops(
    text: str, expression: str, room: int, steps: int
):
    pattern, at, found = compiled(expression), 0, list[str]()
    while at < len(text):
        left = iter(range(steps))
        part = search(text, at, pattern, room, lambda left=left: next(left, None) is None)
        assert part.end > at
        found += part.lines
        at = part.end
    numbers = [int(line.partition(":")[0]) for line in found]
    assert numbers == [n for n, line in enumerate(lines_of(text), 1) if re.search(expression, line)]


def test_the_answer_stays_within_its_size_and_goes_on_where_it_stopped():
    text = "".join(f"row {n:05}\n" for n in range(1, 5001))
    first = search(text, 0, compiled("row"), 1_000, never)
    assert 900 < sum(len(line) for line in first.lines) <= 1_000
    second = search(text, first.end, compiled("row"), 1_000, never)
    assert int(second.lines[0].partition(":")[0]) == len(first.lines) + 1


def test_a_match_deep_in_a_very_long_line_is_shown_with_what_stands_around_it():
    line = "x" * 65_530 + "needle" + "y" * 200_000
    [found] = search(f"first\n{line}\nneedle too", 0, compiled("needle"), 600, never).lines[:1]
    assert found.startswith("2: …x")
    assert "xneedley" in found
    assert found.endswith("y…")
    assert len(found) < 600


def test_the_end_of_the_time_ends_the_search():
    text = "a\n" * 1_000_000
    found = search(text, 0, compiled("b"), 1_000, iter([False] * 99 + [True]).__next__)
    assert (found.lines, found.end) == ((), 200)


@pytest.mark.parametrize("expression", ["a.{300}c{9}x", "(x+x+)+y", "(a?){99}b", "^(([a-z])+.)+[A-Z]([a-z])+$"])
def test_an_expression_that_would_take_others_for_ever_takes_linear_time(expression: str):
    text = "abcx" * 250_000
    pattern = compiled(expression)
    began = time.monotonic()
    ends = time.monotonic() + 0.2
    search(text, 0, pattern, 1_000, lambda: time.monotonic() > ends)
    assert time.monotonic() - began < 5


UNFIT = [("(a", r"missing \)"), ("(?=a)", "look-around"), ("a.{900}c", "too large")]


@pytest.mark.parametrize(("expression", "why"), UNFIT)
def test_an_expression_that_cannot_be_used_is_refused_with_the_reason(expression: str, why: str):
    with pytest.raises(BadPattern, match=why):
        compiled(expression)


@pytest.mark.parametrize("expression", ["^b", "b$", r"\bb"])
def test_the_ends_of_a_piece_of_a_very_long_line_are_no_ends_of_a_line(expression: str):
    line = "ab" * 100_000 + "a"
    assert search(f"{line}\n{line}", 0, compiled(expression), 10_000, never).lines == ()
