"""Which calls the options of `errands calls` mean."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands_config.wire import CallState
from errands_orchestrator.call_search import OPEN, Wanted
from errands_orchestrator.calls import CallRow
from errands_orchestrator.cli.exit_codes import UsageError
from errands_orchestrator.cli.finding import Filters, moment_of, states_of

NOW = 1_800_000_000_000
ROW = CallRow("c", "s1", "bash_lint", "p", CallState.RUNNING, 1, "default", "", "", 0, 0, 0, None, created_at=1_000)


@given(st.lists(st.sampled_from(CallState)))
def test_states_are_read_in_any_mix_of_commas_and_options(states: list[CallState]) -> None:
    words = [str(state) for state in states]

    assert states_of(words) == frozenset(states)
    assert states_of([" , ".join(words)] if words else []) == frozenset(states)


@pytest.mark.parametrize(
    ("word", "hint"), [("runing", "did you mean 'running'?"), ("", "known are"), ("xyz", "known are waiting, queued")]
)
def test_a_word_that_is_no_state_is_refused_with_what_was_meant(word: str, hint: str) -> None:
    with pytest.raises(UsageError, match=r"--state: .* is no state") as refused:
        states_of(["queued", word])

    assert hint in str(refused.value)


@pytest.mark.parametrize(
    ("text", "ms"), [("10m", 600_000), ("2h", 7_200_000), ("3d", 259_200_000), ("1h30m", 5_400_000), ("0.5s", 500)]
)
def test_a_span_is_counted_back_from_the_stores_time(text: str, ms: int) -> None:
    assert moment_of(text, NOW) == NOW - ms


def test_a_span_longer_than_time_means_the_beginning() -> None:
    assert moment_of("999999999w", NOW) == 0


@given(st.datetimes(datetime(1970, 1, 2), datetime(2200, 1, 1)))
def test_a_moment_without_a_zone_is_utc(moment: datetime) -> None:
    there = moment.replace(tzinfo=UTC)

    assert moment_of(moment.isoformat(), NOW) == round(there.timestamp() * 1000)
    assert moment_of(there.isoformat(), NOW) == moment_of(moment.isoformat(), NOW)


def test_a_moment_may_name_its_zone() -> None:
    assert moment_of("2026-01-31T12:00+02:00", NOW) == moment_of("2026-01-31T10:00Z", NOW)


@pytest.mark.parametrize("text", ["", "10", "10x", "m", "10m ago", "-5m", "yesterday", "2026-13-01", "1e3s"])
def test_what_is_neither_span_nor_moment_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="neither a span"):
        moment_of(text, NOW)


@pytest.mark.parametrize(
    ("wanted", "takes"),
    [
        (Wanted(), True),
        (Wanted(states=OPEN), True),
        (Wanted(states=frozenset({CallState.QUEUED})), False),
        (Wanted(tool="bash_*"), True),
        (Wanted(tool="bash"), False),
        (Wanted(since=1_000), True),
        (Wanted(since=1_001), False),
        (Wanted(session="s1"), True),
        (Wanted(session="s2"), False),
    ],
)
def test_a_call_is_meant_when_every_filter_lets_it_through(wanted: Wanted, *, takes: bool) -> None:
    assert wanted.takes(ROW) is takes


def test_filters_that_were_not_given_do_not_narrow() -> None:
    assert not Filters().narrow
    assert Filters().wanted(NOW) == Wanted()
    assert Filters().wanted(NOW, OPEN) == Wanted(states=OPEN)


@pytest.mark.parametrize("given_one", [{"tool": ""}, {"session": ""}, {"since": "1h"}, {"state": ("queued",)}])
def test_a_filter_that_was_given_narrows_even_if_it_is_empty(given_one: dict[str, str]) -> None:
    filters = replace(Filters(), **given_one)

    assert filters.narrow
    assert filters.wanted(NOW, OPEN) != Wanted(states=OPEN)
