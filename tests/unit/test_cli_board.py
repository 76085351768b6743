"""What runs, as a person sees it: events in, lines out."""

import json

from hypothesis import given
from hypothesis import strategies as st

from errands_config.text import for_terminal
from errands_config.wire import CallState
from errands_orchestrator.calls import CallRow
from errands_orchestrator.cli.board import Board, BoardCall, after, with_call, with_rows
from errands_orchestrator.cli.display import PLAIN_SECONDS, LiveDisplay, PlainDisplay
from errands_orchestrator.cli.following import Seen
from errands_orchestrator.cli.typing_line import fitting
from errands_orchestrator.progress import in_short

LINT = {"tool_call_id": "c1", "provider_call_id": "call_1", "tool": "lint"}
TESTS = {"tool_call_id": "c2", "provider_call_id": "call_2", "tool": "run_tests"}
KINDS = ["queued", "started", "progressed", *(str(state) for state in CallState if state.is_final)]


def seen(kind: str, facts: dict[str, str]) -> Seen:
    return Seen("1-0", kind, {"kind": kind, "at": "0", **facts})


def both_running() -> Board:
    board = Board("run the tests and the linter")
    for facts in (LINT, TESTS):
        board = after(after(board, seen("tool_call.queued", facts)), seen("tool_call.started", facts))
    return board


def test_the_block_looks_as_the_contract_shows_it() -> None:
    board = after(both_running(), seen("tool_call.completed", LINT))
    board = with_call(board, BoardCall("c2", "call_2", "run_tests", CallState.RUNNING, "128 tests passed"))

    assert board.lines == (
        "[Partial] > run the tests and the linter",
        "  ✓ lint (call_1): completed",
        "  ⏳ run_tests (call_2): running: 128 tests passed",
    )


def test_a_queued_call_is_pending_and_a_timed_out_one_is_not_ticked() -> None:
    board = after(Board("x"), seen("tool_call.queued", LINT))

    assert board.lines[1] == "  ⏳ lint (call_1): pending"
    assert [call.line for call in after(board, seen("tool_call.timed_out", LINT)).calls] == [
        "✗ lint (call_1): timed out"
    ]


def test_there_is_no_block_when_nothing_runs() -> None:
    board = both_running()
    for facts in (LINT, TESTS):
        board = after(board, seen("tool_call.completed", facts))

    assert board.lines == ()


def test_the_next_request_takes_what_has_ended_off_the_board() -> None:
    board = after(after(both_running(), seen("tool_call.completed", LINT)), seen("turn.started", {"turn": "2"}))

    assert [call.id for call in board.calls] == ["c2"]


def test_recorded_calls_join_the_board_without_changing_what_is_known() -> None:
    row = CallRow("c2", "s", "run_tests", "call_2", CallState.QUEUED, 1, "default", "", "", 0, 0, 0, None)
    new = CallRow("c3", "s", "build", "call_3", CallState.WAITING, 1, "default", "", "", 0, 0, 0, None)

    board = with_rows(both_running(), (row, new))

    assert [(call.id, call.state) for call in board.calls] == [
        ("c1", CallState.RUNNING),
        ("c2", CallState.RUNNING),
        ("c3", CallState.WAITING),
    ]


def test_what_a_tool_calls_itself_cannot_move_the_cursor() -> None:
    board = after(Board("x\x1b[2J"), seen("tool_call.started", {**LINT, "provider_call_id": "a\x1b[31m\nb"}))

    assert "\x1b" not in "".join(board.lines)


@given(st.lists(st.tuples(st.sampled_from(KINDS), st.sampled_from([LINT["tool_call_id"], "c2"]))))
def test_a_call_stands_on_the_board_once_whatever_its_events(events: list[tuple[str, str]]) -> None:
    board = Board("x")
    for kind, cid in events:
        board = after(board, seen(f"tool_call.{kind}", {**LINT, "tool_call_id": cid}))

    assert sorted(call.id for call in board.calls) == sorted({cid for _, cid in events})


# ---- progress in short


def test_progress_is_told_by_line_then_message_then_as_json() -> None:
    told = {
        '"one\\ntwo\\n\\n"': "two",
        '{"line":"128 passed","message":"m","lines":3}': "128 passed",
        '{"level":"notify","message":"half way"}': "half way",
        '{"done":3,"total":40}': '{"done":3,"total":40}',
        '{"line":7}': '{"line":7}',
        "[1, 2]": "[1,2]",
        '{"started":true}': "",
    }

    assert {payload: in_short(payload) for payload in told} == told


@given(st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.dictionaries(st.text(), inner)))
def test_progress_in_short_is_one_line_of_at_most_a_hundred_characters(value: object) -> None:
    told = in_short(json.dumps(value))

    assert len(told) <= 100
    assert len(told.splitlines()) <= 1
    assert for_terminal(told) == told


# ---- displays


def test_off_a_terminal_every_change_of_state_is_a_line_and_progress_is_rare() -> None:
    lines: list[str] = []
    now = [100.0]
    display = PlainDisplay(lines.append, lambda: now[0])
    board = after(Board("x"), seen("tool_call.started", LINT))

    display.show(board)
    for moment, news in ((0.1, "1"), (0.2, "2"), (PLAIN_SECONDS + 0.1, "3")):
        now[0] = 100.0 + moment
        display.show(with_call(board, BoardCall("c1", "call_1", "lint", CallState.RUNNING, news)))
    display.show(after(board, seen("tool_call.completed", LINT)))

    assert lines == ["⏳ lint (call_1): running", "⏳ lint (call_1): running: 3", "✓ lint (call_1): completed"]


def test_on_a_terminal_what_leaves_the_block_stays_above_as_a_line() -> None:
    above: list[str] = []
    drawn: list[list[str]] = []
    display = LiveDisplay(above.append, lambda lines: drawn.append([*lines]))
    ended = after(both_running(), seen("tool_call.completed", LINT))

    display.show(ended)
    display.show(after(ended, seen("turn.started", {"turn": "2"})))
    display.close()

    assert above == ["✓ lint (call_1): completed"]
    assert drawn[0][1:] == ["  ✓ lint (call_1): completed", "  ⏳ run_tests (call_2): running"]
    assert drawn[1][1:] == ["  ⏳ run_tests (call_2): running"]
    assert drawn[-1] == []


def test_what_a_person_said_stands_below_what_runs_a_line_each() -> None:
    drawn: list[list[str]] = []
    display = LiveDisplay(lambda _: None, lambda lines: drawn.append([*lines]))

    display.show(both_running())
    display.queue(["how long?", "two\nlines\x1b[2J"])
    display.queue([])

    assert drawn[1][-2:] == ["queued: how long?", "queued: two lines"]
    assert drawn[2] == drawn[0]


def test_a_block_that_is_too_high_says_how_much_more_there_is() -> None:
    lines = [str(number) for number in range(10)]

    assert fitting(lines, 10) == lines
    assert fitting(lines, 4) == ["0", "1", "2", "… (7 more)"]
    assert fitting(lines, 0) == ["0", "… (9 more)"]
