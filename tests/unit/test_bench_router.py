"""What the router's benchmark computes from what it saw, and the page that it renews."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from bench import page
from bench.cpu import Cpu
from bench.router.ideal import ideal
from bench.router.load import Load, Trigger, triggers
from bench.router.picture import picture
from bench.router.played import Call, Played
from hypothesis import given
from hypothesis import strategies as st

LOAD = Load(100, 4)
ARRIVED = [Trigger(1.0, 0), Trigger(1.1, 0), Trigger(1.2, 0), Trigger(5.0, 0)]


def test_what_arrives_during_a_call_goes_into_the_next_one_together() -> None:
    assert [call.triggers for call in ideal(LOAD, ARRIVED).calls] == [(0,), (1, 2), (3,)]


@given(st.lists(st.tuples(st.floats(0, 60), st.integers(0, 3))))
def test_before_an_ideal_router_each_trigger_is_read_once_and_never_before_it_arrived(
    drawn: list[tuple[float, int]],
) -> None:
    arrived = [Trigger(at, conversation) for at, conversation in sorted(drawn)]
    calls = ideal(LOAD, arrived).calls
    assert sorted(number for call in calls for number in call.triggers) == list(range(len(arrived)))
    assert all(arrived[number].at <= call.asked for call in calls for number in call.triggers)


@given(st.lists(st.tuples(st.floats(0, 60), st.integers(0, 3)), min_size=1))
def test_an_ideal_router_lets_no_time_pass_between_a_chance_to_ask_and_the_request(
    drawn: list[tuple[float, int]],
) -> None:
    arrived = [Trigger(at, conversation) for at, conversation in sorted(drawn)]
    assert {gap.seconds for gap in ideal(LOAD, arrived).gaps} == {0.0}


def test_own_time_is_from_the_arrival_at_rest_and_else_from_the_answer_before() -> None:
    calls = [Call(1.02, 2.3, (0,)), Call(2.34, 3.6, (1, 2)), Call(5.06, 6.4, (3,))]
    played = Played(LOAD, ARRIVED, calls, Cpu(0, 0, 0))
    assert played.own_ms == pytest.approx([1, 2, 3])
    assert played.alone_in_calls == pytest.approx(1.04 / 1.25 + 0.25 / 1.25)


def test_every_run_of_a_load_meets_the_same_arrivals_at_its_rate() -> None:
    load = Load(400, 4000, conversations=2)
    made = triggers(load)
    assert made == triggers(load)
    assert made[-1].at == pytest.approx(4000 / 800 * 60, rel=0.1)


def test_the_picture_is_well_formed_and_readable_in_the_dark() -> None:
    drawn = picture([ideal(LOAD, ARRIVED)], ideal(Load(40, 4), ARRIVED))
    assert ElementTree.fromstring(drawn).tag == "{http://www.w3.org/2000/svg}svg"
    assert "prefers-color-scheme: dark" in drawn


def test_a_part_of_the_page_is_renewed_and_the_rest_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = tmp_path / "page.md"
    there.write_text("before\n<!-- measured: x -->\nold\n<!-- end of x -->\nbehind\n")
    monkeypatch.setattr(page, "PAGE", there)
    page.renew("x", "new")
    assert there.read_text() == "before\n<!-- measured: x -->\n\nnew\n\n<!-- end of x -->\nbehind\n"
    with pytest.raises(ValueError, match="no part"):
        page.renew("y", "new")


@pytest.mark.parametrize("part", ["run", "router"])
def test_the_real_page_has_the_part(part: str) -> None:
    text = page.PAGE.read_text()
    assert text.count(f"<!-- measured: {part} -->\n") == text.count(f"<!-- end of {part} -->") == 1
