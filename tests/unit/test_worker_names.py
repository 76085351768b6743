"""Small pure parts of the worker: Celery ids, the board, what a call that was stopped is recorded as."""

import pytest

from errands_config.scripts.attempts import Holder
from errands_config.wire import CallPolicy, CallState, Claimed
from errands_workers.attempt import Attempt, Stop, stopped_outcome
from errands_workers.board import Board
from errands_workers.revoke import call_of

CID = "01a22e07-1173-7ba3-a341-60c223bfd4b8"
CLAIMED = Claimed(
    call=CID, session="s", conversation="s", agent="a", tool="t", provider_id="p", arguments="{}",
    policy=CallPolicy(timeout_seconds=3, queue_timeout_seconds=1), attempt=1, token="t", deadline_ms=3000,
)  # fmt: skip


def attempt() -> Attempt:
    return Attempt(CLAIMED, "default", Holder("w", 1))


@pytest.mark.parametrize("suffix", ["", ".2", ".2b", ".1r12"])
def test_a_celery_id_without_its_suffix_is_the_call(suffix: str):
    assert call_of(CID + suffix) == CID


@pytest.mark.parametrize("odd", ["", "x", CID[:-1], f"{CID}.", f"{CID}.a.b", f"{CID}/..", CID.upper(), f"{CID}\n"])
def test_what_is_no_id_of_a_call_is_none(odd: str):
    assert call_of(odd) is None


def test_a_call_that_ended_by_itself_cannot_be_stopped_any_more():
    ended = attempt()
    assert ended.end() is None
    ended.ask_to_stop(Stop("cancelled"))
    assert (ended.end(), ended.stopped.is_set(), ended.abandon()) == (None, False, False)


def test_the_first_reason_to_stop_stays():
    asked = attempt()
    asked.ask_to_stop(Stop("timed_out"))
    asked.ask_to_stop(Stop("cancelled"))
    assert asked.end() == Stop("timed_out")
    assert asked.stopped.is_set()


def test_a_tool_is_pressed_only_while_it_runs():
    pressed: list[int] = []
    call = attempt()
    call.press()
    with call.stoppable(lambda: pressed.append(1), patience=2):
        call.press()
        call.end()
        call.press()
    call.press()
    assert pressed == [1]


@pytest.mark.parametrize(
    ("stop", "state"),
    [
        (Stop("cancelled", "user", "why"), CallState.CANCELLED),
        (Stop("timed_out"), CallState.TIMED_OUT),
        (Stop("lost"), CallState.FAILED),
        (Stop("cut_off"), CallState.FAILED),
    ],
)
def test_a_stop_is_recorded_by_its_reason(stop: Stop, state: CallState):
    outcome = stopped_outcome(CLAIMED, stop)
    assert (outcome.state, outcome.by, outcome.reason) == (state, stop.by, stop.reason)
    assert outcome.timeout_seconds == (3 if state == CallState.TIMED_OUT else None)


def test_the_board_carries_offers_signs_and_the_stores_last_answer_between_mappings_of_one_file():
    board = Board.create()
    other = Board(board.descriptor)
    assert (other.offers, list(other.signs())) == (None, [])
    board.offer(b'{"a": 1}')
    slot = other.slot(3)
    slot.due(12.5)
    [sign] = board.signs()
    assert (board.offers, sign.due_ns) == (b'{"a": 1}', 12_500_000_000)
    slot.due(None)
    assert next(board.signs()).due_ns == 0
    board.answered()
    assert 0 <= other.silence_seconds < 5
    board.close()
