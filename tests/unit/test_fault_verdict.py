"""The checker of the fault kit: each thing that must hold is seen when it does not."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.faults.kit.evidence import CallEvidence, Evidence, Message, SessionEvidence
from tests.faults.kit.verdict import findings

PLACEHOLDER = json.dumps(
    {"status": "running", "message": "This tool call has not finished yet. Its result will be …", "tool_call_id": "p2"}
)
NOTICE = (
    "Background tool calls finished since their placeholder responses:\n\n"
    "tool_call_id p2 (bash_again) completed (run again from the start after a restart):\neffect k2. of attempt 2\n\n"
    "tool_call_id p3 (py_once) failed:\ntool call orphaned: it was running in a process that no longer tracks it"
)
DIRECT = CallEvidence("c1", 1, "bash_once", "p1", "k1.", "completed", 1, 0, (1,), (1,), ("completed",))
AGAIN = CallEvidence("c2", 1, "bash_again", "p2", "k2.", "completed", 2, 2, (1, 2), (2,), ("completed",))
LOST = CallEvidence("c3", 1, "py_once", "p3", "k3.", "orphaned", 1, 0, (1,), (), ("orphaned",))


def tool(provider_id: str, text: str) -> Message:
    return {"role": "tool", "tool_call_id": provider_id, "content": text}


MESSAGES: tuple[Message, ...] = (
    {"role": "user", "content": "errand 1"},
    {"role": "assistant", "content": "part 0", "tool_calls": []},
    tool("p1", "effect k1. of attempt 1"),
    tool("p2", PLACEHOLDER),
    tool("p3", PLACEHOLDER),
    {"role": "user", "content": NOTICE},
)
SESSION = SessionEvidence(1, "s1", "idle", "", 3, MESSAGES, (DIRECT, AGAIN, LOST))


def found(session: SessionEvidence = SESSION) -> str:
    return "\n".join(findings(Evidence((session,))))


def with_call(call: CallEvidence) -> str:
    return found(replace(SESSION, calls=tuple(call if call.id == old.id else old for old in SESSION.calls)))


def with_messages(*messages: Message) -> str:
    return found(replace(SESSION, messages=messages))


def test_a_run_in_which_all_went_right_has_no_findings() -> None:
    assert found() == ""


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (replace(DIRECT, starts=(1, 1)), "was started 2 times, allowed are 1"),
        (replace(AGAIN, starts=(1, 1, 2)), "was started 2 times in attempt 1, allowed are 1"),
        (replace(AGAIN, starts=(1, 2, 3, 4)), "was started 4 times, allowed are 3"),
        (replace(AGAIN, ends=(1,)), "completed by attempt 2, whose tool never came to its end"),
        (replace(DIRECT, end_events=("completed", "completed")), "the end events"),
        (replace(DIRECT, end_events=()), "the end events"),
        (replace(LOST, end_events=("failed",)), "is orphaned and has the end events"),
        (replace(DIRECT, state="running", end_events=()), "has not ended: it is running"),
        (replace(LOST, state="cancelled", end_events=("cancelled",)), "nobody asked for it"),
        (replace(LOST, state="timed_out", end_events=("timed_out",)), "the model was not told that it is timed_out"),
        (replace(LOST, state="completed", end_events=("completed",), ends=(1,)), "its result stands 0 times"),
        (replace(DIRECT, key="k2."), "made the call k2. 2 times"),
    ],
)
def test_a_call_that_broke_its_promise_is_found(call: CallEvidence, said: str) -> None:
    assert said in with_call(call)


def test_a_result_that_the_model_had_twice_is_found() -> None:
    again: Message = {"role": "user", "content": NOTICE}

    assert "2 notices where 1 should be" in with_messages(*MESSAGES, again)
    assert "its result stands 2 times" in with_messages(*MESSAGES, again)


def test_a_result_in_a_tool_message_and_a_notice_is_found() -> None:
    notice: Message = {"role": "user", "content": "tool_call_id p1 (bash_once) completed:\neffect k1. of attempt 1"}

    assert "1 notices where 0 should be" in with_messages(*MESSAGES, notice)


def test_a_result_that_the_model_never_had_is_found() -> None:
    assert "0 notices where 1 should be" in with_messages(*MESSAGES[:-1])


def test_a_call_without_a_tool_message_is_found() -> None:
    assert "call c1 (bash_once): 0 tool messages" in with_messages(*MESSAGES[:2], *MESSAGES[3:])


def test_a_session_that_has_not_ended_or_lacks_calls_is_found() -> None:
    assert "it is paused endpoint failed" in found(replace(SESSION, status="paused", cause="endpoint failed"))
    assert "has 3 calls instead of 4" in found(replace(SESSION, planned=4))


def test_what_is_left_behind_is_found() -> None:
    evidence = Evidence((SESSION,), ("prefix changed",), ("17: sleep 600",), ("errands:c:x",), ("o1: stuck",))

    assert findings(evidence) == [
        "a request was refused: prefix changed",
        "a process is left: 17: sleep 600",
        "a key is leaked: errands:c:x",
        "a log tells of a defect: o1: stuck",
    ]


def test_too_few_completed_calls_are_found() -> None:
    assert findings(Evidence((SESSION,)), least_completed=0.7) == ["only 2 of 3 calls completed"]
