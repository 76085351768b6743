"""Which workers are taken for lost: only those whose beat was watched to stand still for long enough."""

from __future__ import annotations

from typing import TypeAlias

import hypothesis.strategies as st
from hypothesis import given

from errands_orchestrator.sweeper import GAP_SECONDS, LostWorkers

PATIENCE = 5.0
LOOK = 0.5


def looks(lost: LostWorkers, beats: dict[str, float], start: float, end: float, run_id: str = "one") -> list[str]:
    """Look twice a second from `start` to `end`; what the last look found."""
    found: list[str] = []
    for step in range(int((end - start) / LOOK) + 1):
        found = lost.look(beats, run_id, start + step * LOOK)
    return found


def test_a_beat_that_stands_still_is_lost_after_its_patience_and_not_before() -> None:
    lost = LostWorkers(PATIENCE)

    assert looks(lost, {"w": 1}, 100, 104.5) == []
    assert looks(lost, {"w": 1}, 105, 105) == ["w"]


def test_a_beat_that_moves_starts_its_count_again() -> None:
    lost = LostWorkers(PATIENCE)
    looks(lost, {"w": 1}, 100, 104.5)

    assert looks(lost, {"w": 2}, 105, 109.5) == []
    assert looks(lost, {"w": 2}, 110, 110) == ["w"]


def test_a_beat_that_moves_backwards_has_moved() -> None:
    lost = LostWorkers(PATIENCE)
    looks(lost, {"w": 9}, 100, 104.5)

    assert looks(lost, {"w": 1}, 105, 109.5) == []


def test_one_worker_that_beats_saves_no_other() -> None:
    lost = LostWorkers(PATIENCE)
    for step in range(10):
        lost.look({"dead": 1, "alive": step}, "one", 100 + step * LOOK)

    assert lost.look({"dead": 1, "alive": 99}, "one", 105) == ["dead"]


def test_a_look_after_a_gap_believes_nothing_that_was_watched_before() -> None:
    lost = LostWorkers(PATIENCE)
    looks(lost, {"w": 1}, 100, 104.5)

    after = 104.5 + GAP_SECONDS + 0.1
    assert looks(lost, {"w": 1}, after, after + 4.5) == []
    assert lost.look({"w": 1}, "one", after + 5) == ["w"]


def test_a_store_that_is_another_process_starts_every_count_again() -> None:
    lost = LostWorkers(PATIENCE)
    looks(lost, {"w": 1}, 100, 104.5)

    assert looks(lost, {"w": 1}, 105, 109.5, run_id="two") == []
    assert lost.look({"w": 1}, "two", 110) == ["w"]


def test_a_failed_look_starts_every_count_again() -> None:
    lost = LostWorkers(PATIENCE)
    looks(lost, {"w": 1}, 100, 104.5)
    lost.start_again()

    assert looks(lost, {"w": 1}, 105, 109.5) == []


def test_a_worker_that_left_and_came_back_is_watched_from_then_on() -> None:
    lost = LostWorkers(PATIENCE)
    looks(lost, {"w": 1}, 100, 104.5)
    lost.look({}, "one", 105)

    assert looks(lost, {"w": 1}, 105.5, 110) == []


Look: TypeAlias = tuple[float, str, dict[str, float]]
"""When, which process the store was, and the beats."""
BEATS = st.dictionaries(st.sampled_from("abc"), st.integers(0, 3).map(float))
LOOKS = st.lists(st.tuples(BEATS, st.sampled_from(["one", "one", "one", "two"]), st.floats(0.01, 3)), max_size=60)


@given(looks=LOOKS)
def test_nobody_is_lost_without_looks_that_saw_the_same_beat_all_the_time(
    looks: list[tuple[dict[str, float], str, float]],
) -> None:
    lost = LostWorkers(PATIENCE)
    history: list[Look] = []
    now = 1000.0
    for beats, run_id, pause in looks:
        now += pause
        history.append((now, run_id, beats))

        for worker in lost.look(beats, run_id, now):
            watched = unbroken(history, worker)
            assert watched[-1][0] - watched[0][0] >= PATIENCE


def unbroken(
    history: list[tuple[float, str, dict[str, float]]], worker: str
) -> list[tuple[float, str, dict[str, float]]]:
    """The newest looks in a row in which the store was one process, no gap lay between, and the beat stood still."""
    last = history[-1]
    kept = [last]
    for look in reversed(history[:-1]):
        if kept[0][0] - look[0] > GAP_SECONDS or look[1] != last[1] or look[2].get(worker) != last[2][worker]:
            break
        kept.insert(0, look)
    return kept
