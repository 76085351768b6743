"""What stands around a tool, each layer by itself and without a worker."""

import itertools
import json
import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext
from dataclasses import replace
from queue import SimpleQueue
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands_config.scripts.attempts import Holder
from errands_config.wire import (
    After,
    Around,
    CallPolicy,
    CallState,
    Claimed,
    Deferral,
    Hook,
    Outcome,
    Retries,
    Timeout,
    Truncate,
)
from errands_workers import tool
from errands_workers.around.given import Given
from errands_workers.around.pieces import SILENT, CallOver, Overdue, Piece, Pieces, Within
from errands_workers.around.retrying import LONGEST_BACKOFF_SECONDS, backoff, retried
from errands_workers.around.timing import timed
from errands_workers.around.tool_call import permitted
from errands_workers.around.truncating import cut, truncated
from errands_workers.around.wrapped import around_of, is_plain
from errands_workers.attempt import Attempt, Stop, failed
from errands_workers.kinds.function import FunctionTool
from errands_workers.kinds.kind import RunEnd
from errands_workers.reports import CallReports

POLICY = CallPolicy(timeout_seconds=60, queue_timeout_seconds=60)
CLAIMED = Claimed(
    call="c", session="s", conversation="s", agent="a", tool="t", provider_id="p", arguments="{}", policy=POLICY,
    attempt=1, token="x", deadline_ms=60_000,
)  # fmt: skip
DONE = Outcome(state=CallState.COMPLETED, result="done")
BROKEN = failed("broken", "ValueError")
LATE = Outcome(state=CallState.TIMED_OUT, error="tool call timed out after 1s")
UNFIT = failed("invalid arguments: a", "invalid arguments")
DENIED = Outcome(state=CallState.DENIED, error="no")
LEFT = Deferral(kind="tool")


class NothingBegun:
    """A call that begins no process."""

    def began(self, pid: int) -> None: ...

    def lives(self) -> bool:
        return False

    def kill(self, unreaped: Collection[int] = ()) -> bool:
        return True


def an_attempt(claimed: Claimed = CLAIMED) -> Attempt:
    return Attempt(claimed, "default", Holder("w", 1), NothingBegun())


def unwatched(attempt: Attempt) -> Pieces:
    return Pieces(attempt, lambda _: nullcontext(), lambda: None)


def one_after_another(ends: Sequence[RunEnd]) -> Callable[[Given], RunEnd]:
    left = iter(ends)
    return lambda _: next(left)


def retry(terms: Retries, ends: Sequence[RunEnd]) -> tuple[RunEnd, list[int]]:
    """How `retries` around tries with these ends ends, and what it announces."""
    inbox: SimpleQueue[Any] = SimpleQueue()
    pieces = unwatched(an_attempt())
    reports = CallReports(inbox, CLAIMED, 1, lambda: None)
    end = retried(terms, pieces, reports, one_after_another(ends), Given("{}", pieces.whole))
    said = [json.loads(inbox.get().text) for _ in range(inbox.qsize())]
    assert {entry["event"] for entry in said} <= {"retrying"}
    return end, [entry["attemptsLeft"] for entry in said]


@pytest.mark.parametrize(
    ("terms", "ends", "end", "said"),
    [
        (Retries(count=2), [DONE], DONE, []),
        (Retries(count=2), [BROKEN, LATE, DONE], DONE, [2, 1]),
        (Retries(count=1), [BROKEN, LATE], failed(f"tool call failed: {LATE.error}", ""), [1]),
        (Retries(count=0), [BROKEN], failed("tool call failed: broken", "ValueError"), []),
        (Retries(count=2), [UNFIT], UNFIT, []),
        (Retries(count=2), [BROKEN, UNFIT], UNFIT, [2]),
        (Retries(count=2), [DENIED], DENIED, []),
        (Retries(count=2), [BROKEN, LEFT], LEFT, [2]),
        (Retries(count=2, on=("timeout",)), [BROKEN], BROKEN, []),
        (Retries(count=2, on=("timeout",)), [LATE, BROKEN], BROKEN, [2]),
        (Retries(count=2, on=("error",)), [LATE], LATE, []),
    ],
)
def test_retries_go_on_after_what_they_are_for(terms: Retries, ends: Sequence[RunEnd], end: RunEnd, said: list[int]):
    assert retry(terms, ends) == (end, said)


@given(st.floats(0.001, 1000), st.integers(0, 200))
def test_pauses_double_up_to_a_bound_and_are_always_the_same(first: float, before: int):
    pauses = [backoff(first, n) for n in range(before + 2)]
    assert pauses[0] == first
    assert max(pauses) <= max(first, LONGEST_BACKOFF_SECONDS)
    for one, other in itertools.pairwise(pauses):
        assert other == pytest.approx(min(2 * one, max(first, LONGEST_BACKOFF_SECONDS)))


def test_without_a_backoff_there_is_no_pause():
    assert backoff(0, 10) == 0


@given(st.text(), st.integers(0, 40), st.sampled_from(["text", "json"]))
def test_a_result_is_cut_only_where_it_is_too_large(text: str, most: int, kind: Any):
    text = text.encode(errors="ignore").decode()
    outcome = Outcome(state=CallState.COMPLETED, result=text, result_type=kind)
    short = cut(outcome, most)
    if len(text.encode()) <= most:
        assert short == outcome
        return
    kept = short.result.removesuffix(f"\n[truncated: result exceeded {most} bytes]")
    assert text.startswith(kept)
    assert most - 4 < len(kept.encode()) <= most
    assert short.result_type == "text"


@pytest.mark.parametrize("end", [BROKEN, LATE, DENIED, LEFT])
def test_what_is_no_result_is_not_cut(end: RunEnd):
    assert truncated(1, lambda _: end, Given("{}", unwatched(an_attempt()).whole)) == end


def a_time(seconds: float) -> Within:
    return Within(time.monotonic() + seconds, LATE)


def test_a_timeout_answers_for_its_own_time_only():
    outer, seen = a_time(100), list[Within]()

    def overdue(given: Given) -> RunEnd:
        seen.append(given.within)
        raise Overdue(given.within)

    end = timed(1.5, overdue, Given("{}", outer))
    assert isinstance(end, Outcome)
    assert (end.state, end.error, end.timeout_seconds) == (CallState.TIMED_OUT, "tool call timed out after 1.5s", 1.5)
    assert seen[0].overdue == end
    with pytest.raises(Overdue) as other:
        timed(1.5, lambda _: (_ for _ in ()).throw(Overdue(outer)), Given("{}", outer))
    assert other.value.within is outer


def test_a_timeout_inside_a_shorter_time_changes_nothing():
    outer = a_time(1)
    seen: list[Given] = []
    assert timed(2, lambda given: seen.append(given) or DONE, Given("{}", outer)) == DONE
    assert seen[0].within is outer


@pytest.mark.parametrize(("seconds", "told"), [(10, "10"), (0.5, "0.5"), (1.25, "1.25"), (1_000_000, "1000000")])
def test_seconds_are_told_as_people_write_them(seconds: float, told: str):
    def overdue(given: Given) -> RunEnd:
        raise Overdue(given.within)

    end = timed(seconds, overdue, Given("{}", a_time(10_000_000)))
    assert isinstance(end, Outcome)
    assert end.error == f"tool call timed out after {told}s"


def test_what_asks_the_call_to_stop_stops_what_runs_in_it():
    attempt = an_attempt()
    piece = attempt.piece = Piece(attempt, a_time(5), ends_call=False)
    attempt.ask_to_stop(Stop("lost"))
    assert piece.stop == Stop("lost")
    assert piece.stopped.is_set()
    assert piece.as_stopped().error_kind == "lost"


@pytest.mark.parametrize(
    ("stop", "ends_call", "own"),
    [
        (Stop("timed_out"), False, True),
        (Stop("timed_out"), True, False),
        (Stop("timed_out", by="deadline"), False, False),
        (Stop("cancelled", by="user"), False, False),
        (Stop("cut_off"), False, False),
    ],
)
def test_only_the_end_of_its_own_time_is_a_pieces_own(stop: Stop, ends_call: bool, own: bool):
    piece = Piece(an_attempt(), a_time(5), ends_call=ends_call)
    piece.ask_to_stop(stop)
    assert piece.is_overdue == own
    assert (piece.as_stopped() == LATE) == own


def stopping(*stops: Stop) -> Callable[[Attempt, object], Outcome]:
    def run(attempt: Attempt, _: object) -> Outcome:
        for stop in stops:
            attempt.ask_to_stop(stop)
        return DONE

    return run


def test_a_piece_that_is_stopped_says_whether_anything_may_follow():
    pieces = unwatched(an_attempt())
    within = a_time(5)
    assert pieces.run(stopping(), within, SILENT) == DONE
    with pytest.raises(Overdue):
        pieces.run(stopping(Stop("timed_out")), within, SILENT)
    with pytest.raises(CallOver) as over:
        pieces.run(stopping(Stop("cancelled", "user", "enough"), Stop("timed_out")), within, SILENT)
    assert (over.value.outcome.state, over.value.outcome.reason) == (CallState.CANCELLED, "enough")
    with pytest.raises(CallOver) as over:
        pieces.run(stopping(Stop("timed_out")), pieces.whole, SILENT)
    assert over.value.outcome == Outcome(state=CallState.TIMED_OUT, timeout_seconds=60)


def test_nothing_follows_a_piece_whose_end_was_told_without_it():
    def given_up(attempt: Attempt, _: object) -> Outcome:
        attempt.ask_to_stop(Stop("timed_out"))
        assert attempt.give_up()
        return DONE

    with pytest.raises(CallOver) as over:
        unwatched(an_attempt()).run(given_up, a_time(5), SILENT)
    assert over.value.outcome == LATE


def test_a_piece_that_has_ended_cannot_be_given_up():
    attempt = an_attempt()
    attempt.end()
    assert not attempt.give_up()
    assert not attempt.given_up


def test_nothing_begins_in_a_time_that_is_over_or_in_a_call_that_is_lost():
    ran = threading.Event()

    def run(_: Attempt, __: object) -> Outcome:
        ran.set()
        return DONE

    attempt = an_attempt()
    with pytest.raises(Overdue):
        unwatched(attempt).run(run, a_time(-1), SILENT)
    late = unwatched(an_attempt(CLAIMED.model_copy(update={"deadline_ms": -1})))
    with pytest.raises(CallOver):
        late.run(run, late.whole, SILENT)
    attempt.ask_to_stop(Stop("lost"))
    with pytest.raises(CallOver):
        unwatched(attempt).run(run, a_time(5), SILENT)
    assert not ran.is_set()


def test_what_a_piece_begins_is_gone_before_the_next_even_if_the_worker_failed_in_it():
    killed: list[str] = []

    class Begun(NothingBegun):
        def kill(self, unreaped: Collection[int] = ()) -> bool:
            killed.append("all")
            return True

    def defect(_: Attempt, __: object) -> Outcome:
        raise RuntimeError("of ours")

    attempt = Attempt(CLAIMED, "default", Holder("w", 1), Begun())
    with pytest.raises(RuntimeError):
        unwatched(attempt).run(defect, a_time(5), SILENT)
    assert killed == ["all"]


@tool(retries=3)
def persistent() -> None:
    """Try again."""


@tool
def modest() -> None:
    """Try once."""


OWN = Retries(count=3)
NOTE = After(hook=Hook(kind="tool", name="n"))


@pytest.mark.parametrize(
    ("around", "whole"),
    [
        ((), (OWN,)),
        ((NOTE, Timeout(seconds=1)), (NOTE, Timeout(seconds=1), OWN)),
        ((Retries(count=0), Truncate(max_bytes=1)), (Retries(count=0), Truncate(max_bytes=1))),
    ],
)
def test_the_authors_retries_are_innermost_and_only_where_the_policy_names_none(
    around: tuple[Around, ...], whole: tuple[Around, ...]
):
    policy = POLICY.model_copy(update={"around": around})
    assert around_of(policy, FunctionTool(persistent)) == whole
    assert around_of(policy, FunctionTool(modest)) == around
    assert not is_plain(policy, FunctionTool(persistent))
    assert is_plain(policy, FunctionTool(modest)) == (around == ())


def test_a_call_that_may_not_wait_fails_instead_of_being_deferred():
    may = CLAIMED.model_copy(update={"policy": POLICY.model_copy(update={"may_defer": True})})
    assert permitted(may, LEFT) == LEFT
    assert permitted(CLAIMED, DONE) == DONE
    end = permitted(CLAIMED, LEFT)
    assert isinstance(end, Outcome)
    assert (end.state, end.error_kind) == (CallState.FAILED, "cannot be deferred")


def test_a_layer_passes_on_all_that_it_does_not_change():
    given = Given('{"a": 1}', a_time(5))
    seen: list[Given] = []
    timed(1, lambda inner: seen.append(inner) or DONE, given)
    assert replace(seen[0], within=given.within) == given
