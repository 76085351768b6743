"""The parts of the fault kit that decide: windows, rotation, aims, owners of keys, plans."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.faults.kit.agents import TOOLS, WRAPPED
from tests.faults.kit.code_copy import shas, with_stepped_clock
from tests.faults.kit.conversation import plan_of, storm_scenario
from tests.faults.kit.deeds import deeds
from tests.faults.kit.effects import Effects
from tests.faults.kit.evidence import defects_in
from tests.faults.kit.key_owners import owner_of
from tests.faults.kit.kinds import TO_MESSAGES, TO_PROCESSES, VICTIMS, Kind, Window, aims
from tests.faults.kit.rotation import Rotation, aim_of, victim_of
from tests.faults.kit.sight import window_of_call, window_of_request
from tests.faults.kit.strike import Strike, counted, hits

from errands_config import keys


@pytest.mark.parametrize(
    ("state", "starts", "ends", "window"),
    [
        ("queued", (), (), Window.PUBLISHED),
        ("running", (), (), Window.CLAIMED),
        ("running", (1,), (1,), Window.CLAIMED),
        ("running", (1, 2), (1,), Window.RUNNING),
        ("running", (2,), (2,), Window.FINISHED),
        ("waiting", (), (), None),
        ("completed", (2,), (2,), None),
    ],
)
def test_a_call_in_its_second_attempt_is_in_the_window_that_its_record_and_its_tool_tell(
    state: str, starts: tuple[int, ...], ends: tuple[int, ...], window: Window | None
) -> None:
    assert window_of_call(state, 2, starts, ends) == window


def test_a_committed_request_is_sent_once_the_endpoint_has_had_it() -> None:
    assert window_of_request(5, {2}) == Window.COMMITTED
    assert window_of_request(5, {2, 5}) == Window.SENT


@given(st.integers())
def test_a_rotation_has_each_kind_once_a_round_and_is_the_same_for_the_same_seed(seed: int) -> None:
    def round_of(rotation: Rotation) -> list[Kind]:
        struck: list[Kind] = []
        for _ in TO_PROCESSES:
            rotation.strike(lambda kind: not struck.append(kind))
        return struck

    first, again = (Rotation(TO_PROCESSES, str(seed)) for _ in range(2))

    rounds = [round_of(first) for _ in range(2)]
    assert [set(kinds) for kinds in rounds] == [set(TO_PROCESSES)] * 2
    assert [round_of(again) for _ in range(2)] == rounds


def test_a_kind_that_found_nobody_is_the_next_to_be_tried() -> None:
    tried: list[Kind] = []
    rotation = Rotation(TO_MESSAGES, "a seed")

    rotation.strike(lambda kind: tried.append(kind) or len(tried) == 2)
    rotation.strike(lambda kind: not tried.append(kind))

    assert tried[2] == tried[0] != tried[1]


def test_a_fault_goes_to_the_role_that_met_it_least_and_that_has_somebody() -> None:
    assert victim_of(Kind.FREEZE, {(Kind.FREEZE, "worker"): 2}, {"worker", "orchestrator"}) == "orchestrator"
    assert victim_of(Kind.FREEZE, {}, {"worker"}) == "worker"
    assert victim_of(Kind.KILL_POOL, {}, {"orchestrator"}) is None


def test_a_kind_is_aimed_at_each_of_its_windows_in_turn_and_first_at_the_one_that_was_missed() -> None:
    tried: Counter[tuple[Kind, Window]] = Counter()
    hit = Counter({Window.PUBLISHED: 3, Window.CLAIMED: 0, Window.RUNNING: 5, Window.DEFERRED: 9, Window.FINISHED: 1})
    aimed: list[Window] = []
    for _ in range(5):
        aimed.append(aim_of(Kind.KILL_POOL, "worker", tried, hit))
        tried[Kind.KILL_POOL, aimed[-1]] += 1

    assert aimed == [Window.CLAIMED, Window.FINISHED, Window.PUBLISHED, Window.RUNNING, Window.DEFERRED]


def test_every_kind_is_in_one_rotation_and_every_window_can_be_aimed_at() -> None:
    assert sorted((*TO_PROCESSES, *TO_MESSAGES)) == sorted(Kind)
    assert {window for kind in VICTIMS for role in VICTIMS[kind] for window in aims(kind, role)} == set(Window)


def test_windows_are_counted_in_the_order_of_a_calls_life() -> None:
    met = counted([Window.SENT, Window.RUNNING, Window.RUNNING])

    assert met == ((Window.RUNNING, 2), (Window.SENT, 1))
    assert hits([Strike(Kind.FREEZE, "w1", 1.0, None, met)] * 2) == {Window.RUNNING: 2, Window.SENT: 2}


@given(st.integers(), st.integers(min_value=1, max_value=500))
def test_a_plan_has_ten_calls_of_known_tools_with_keys_of_their_own(seed: int, number: int) -> None:
    calls = [call for turn in plan_of(seed, number) for call in turn]

    assert len(calls) == len({call.key for call in calls}) == 10
    assert {call.tool for call in calls} <= {*TOOLS, *WRAPPED}
    assert plan_of(seed, number) == plan_of(seed, number)


def test_the_clerk_answers_every_call_once_twice_in_two_ways_or_with_a_cancel_by_the_seed() -> None:
    done = [deeds("1", f"k{number}.", "hook") for number in range(300)]
    pairs = [pair for pair in done if len(pair) == 2]

    assert done == [deeds("1", f"k{number}.", "hook") for number in range(300)]
    assert {deed.verb for pair in done for deed in pair} == {"complete", "fail", "deny", "approve", "cancel"}
    assert len(done) > len(pairs) > 100
    assert any(one.verb == two.verb and one.text == two.text for one, two in pairs)
    assert any(one.verb == two.verb and one.text != two.text for one, two in pairs)


def test_the_clerk_gives_no_leave_for_a_tool_that_deferred_itself() -> None:
    first = [deeds("1", f"k{number}.", "tool")[0] for number in range(300)]

    assert {deed.verb for deed in first} == {"complete", "fail", "deny"}


def test_the_model_of_a_storm_is_slow_now_and_then() -> None:
    pauses = [storm_scenario(1).pause(number, 2) for number in range(200)]

    assert 10 < sum(pause > 2 for pause in pauses) < 60


def test_a_line_of_effects_that_is_not_whole_yet_is_read_later(tmp_path: Path) -> None:
    effects = Effects(tmp_path / "effects")
    effects.file.write_text("start c1 1\nend c1 ")
    effects.look()
    assert (effects.starts["c1"], effects.ends["c1"]) == ([1], [])

    effects.file.write_text("start c1 1\nend c1 1\n")
    effects.look()

    assert (effects.starts["c1"], effects.ends["c1"]) == ([1], [1])


def test_every_script_has_a_name_with_the_stepped_clock() -> None:
    assert {"claim", "finish", "commit", "acquire"} <= shas().keys()
    with pytest.raises(ValueError, match="another way"):
        with_stepped_clock("local now = 1")


def test_every_key_of_the_dictionary_has_an_owner() -> None:
    dictionary = re.findall(r"^    (errands:\S+)", keys.__doc__ or "", re.MULTILINE)
    examples = [
        re.sub(r"\{(\w+)\}", lambda found: "0" * 40 if found[1] == "sha1" else "x-1", name) for name in dictionary
    ]

    assert len(examples) > 25
    assert [name for name in examples if owner_of(name).owner == "nobody"] == []


def test_a_key_of_no_kind_is_nobodys() -> None:
    assert owner_of("errands:new:thing").owner == "nobody"
    assert owner_of("errands:s:x-1:unheard-of").owner == "nobody"
    assert owner_of("gpu").owner == "nobody"
    assert owner_of("gpu", frozenset({"gpu"})).owner == "queue"


def test_a_log_tells_of_defects_and_celerys_lost_connections_are_none(tmp_path: Path) -> None:
    log = tmp_path / "o1.log"
    log.write_text(
        '{"level":"error","kind":"session.stuck"}\n'
        '{"level":"error","logger":"celery.worker","message":"Cannot connect"}\n'
        '{"level":"warning","kind":"store.away"}\nTraceback (most recent call last):\n'
        "  + Exception Group Traceback (most recent call last):\n"
        "errands: internal error: KeyError: 'x' (loop.py:7)\n"
    )

    assert list(defects_in([log])) == [
        'o1: {"level":"error","kind":"session.stuck"}',
        "o1: Traceback (most recent call last):",
        "o1:   + Exception Group Traceback (most recent call last):",
        "o1: errands: internal error: KeyError: 'x' (loop.py:7)",
    ]
