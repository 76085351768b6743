"""What a person sees of calls that wait for somebody outside, and where a command finds its token."""

from __future__ import annotations

import io
import json
import sys
from typing import Any

import pytest
from tests.unit.test_cli_board import LINT, both_running, seen

from errands_config.wire import CallState
from errands_orchestrator.calls import CallRow
from errands_orchestrator.cli.blocked import how_to_answer, report, what_waits
from errands_orchestrator.cli.board import Board, after, with_call
from errands_orchestrator.cli.ending import code_of, how_to_go_on, what_happened
from errands_orchestrator.cli.exit_codes import Exit, UsageError
from errands_orchestrator.cli.given_token import wanted, with_token
from errands_orchestrator.cli.narration import news_of
from errands_orchestrator.cli.watching import Ending
from errands_orchestrator.pending import PendingCall

TOKEN = "ect_0_1_x"


def waiting(tool: str = "deploy", reason: str = "", **more: Any) -> PendingCall:
    row = CallRow("c1", "s1", tool, "call_9", CallState.DEFERRED, 1, "default", "", "", 0, 0, 0, None)
    plain: dict[str, Any] = {"kind": "policy", "arguments": {}, "deferred_at": 0, "expires_at": 0, "token": TOKEN}
    return PendingCall(call=row, reason=reason, **plain | more)


QUESTION = waiting("ask-user", kind="question", arguments={"question": "Which\none?", "choices": ["red", "blue"]})


# ---- the board


def test_a_call_that_waits_for_outside_says_why_until_there_is_news() -> None:
    board = after(both_running(), seen("tool_call.deferred", LINT))
    call = board.calls[0]
    explained = with_call(board, type(call)(call.id, call.provider_id, call.tool, call.state, "a person decides"))

    assert explained.calls[0].line == "⏳ lint (call_1): waits for outside: a person decides"
    assert after(explained, seen("tool_call.progressed", LINT)) == explained
    assert after(explained, seen("tool_call.queued", LINT)).calls[0].line == "⏳ lint (call_1): pending"
    assert after(explained, seen("tool_call.denied", LINT)).calls[0].line == "✗ lint (call_1): denied"


def test_a_call_that_is_born_deferred_joins_the_board() -> None:
    board = after(Board("x"), seen("tool_call.deferred", LINT))

    assert board.lines[1] == "  ⏳ lint (call_1): waits for outside"


def test_a_story_tells_that_a_call_waits() -> None:
    assert news_of("tool_call.deferred", LINT) == "   ⏳ lint (call_1) waits for somebody outside"


# ---- the end of a run that waits


def test_the_report_is_the_one_of_the_contract_in_its_order() -> None:
    calls = [waiting(), QUESTION]

    assert json.dumps(report("s1", calls)) == json.dumps(
        {
            "status": "paused",
            "reason": "waiting for deferred tool calls",
            "session_id": "s1",
            "deferred_calls": [
                {"tool": "deploy", "tool_call_id": "call_9", "continuation_token": TOKEN},
                {"tool": "ask-user", "tool_call_id": "call_9", "continuation_token": TOKEN},
            ],
        }
    )


def test_each_call_that_waits_is_told_on_one_line_without_its_token() -> None:
    told = what_waits([waiting(reason="a person\x1b[2J decides"), waiting(), QUESTION])

    assert told.splitlines() == [
        "  deploy (call_9): a person decides",
        "  deploy (call_9)",
        "  ask-user (call_9): Which one? (red / blue)",
    ]


@pytest.mark.parametrize(
    ("calls", "verbs"),
    [
        ([waiting()], "complete|fail|deny|approve"),
        ([QUESTION], "answer"),
        ([QUESTION, waiting()], "complete|fail|deny|approve|answer"),
    ],
)
def test_the_commands_that_are_named_fit_what_waits(calls: list[PendingCall], verbs: str) -> None:
    assert f"errands session {verbs} TOKEN" in how_to_answer("s1", calls)


def test_a_blocked_run_ends_with_its_own_code_and_says_how_to_go_on() -> None:
    ending = Ending("blocked", pending=(waiting(reason="a person decides"),))

    assert code_of(ending) is Exit.PAUSED_ON_DEFERRED_CALLS
    assert "deploy (call_9): a person decides" in what_happened(ending)
    assert "errands session pending s1" in how_to_go_on("s1", ending, None)
    assert how_to_go_on("s1", ending, None).endswith("Go on with: errands session resume s1")


# ---- the token of a command


@pytest.mark.parametrize(
    ("words", "variable", "token", "rest"),
    [
        ((TOKEN, "file"), "", TOKEN, ["file"]),
        ((TOKEN, "file"), "ect_other", TOKEN, ["file"]),
        (("c1", "file"), "ect_other", "c1", ["file"]),
        (("file", None), "ect_other", "ect_other", ["file"]),
        (("-", None), "ect_other", "ect_other", ["-"]),
        ((TOKEN, None), "ect_other", TOKEN, []),
        ((TOKEN, None), "", TOKEN, []),
        ((None, None), "ect_other", "ect_other", []),
        (("-", "-"), "", "ect_typed", ["-"]),
        (("-", "file"), "ect_other", "ect_typed", ["file"]),
    ],
)
def test_a_token_is_typed_or_read_from_stdin_or_the_environment(
    monkeypatch: pytest.MonkeyPatch, words: tuple[str | None, ...], variable: str, token: str, rest: list[str]
) -> None:
    monkeypatch.setenv("ERRANDS_TOKEN", variable)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b" ect_typed \nmore")))

    assert with_token(*words, most=2) == (token, rest)


@pytest.mark.parametrize("words", [(None,), ("-",), (" ",)])
def test_where_there_is_no_token_a_command_says_where_it_looked(
    monkeypatch: pytest.MonkeyPatch, words: tuple[str | None]
) -> None:
    monkeypatch.delenv("ERRANDS_TOKEN", raising=False)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\n")))

    with pytest.raises(UsageError, match="ERRANDS_TOKEN"):
        with_token(*words, most=1)


def test_what_is_missing_behind_the_token_is_named() -> None:
    with pytest.raises(UsageError, match="REASON is missing"):
        wanted([" "], "REASON")
