"""What is said of a run that only somebody outside can make go on. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from errands_config.text import for_terminal
from errands_orchestrator.cli.output import Row
from errands_orchestrator.pending import PendingCall


def report(sid: str, calls: Sequence[PendingCall]) -> Row:
    """What a one-shot run prints: how it is read stands in §11 of the contract."""
    return {
        "status": "paused",
        "reason": "waiting for deferred tool calls",
        "session_id": sid,
        "deferred_calls": [
            {
                "tool": waiting.call.tool,
                "tool_call_id": waiting.call.provider_id,
                "continuation_token": waiting.token,
            }
            for waiting in calls
        ],
    }


def what_waits(calls: Sequence[PendingCall]) -> str:
    """A line for each call, of a question with its choices."""
    return "\n".join(f"  {_line(waiting)}" for waiting in calls)


def how_to_answer(sid: str, calls: Sequence[PendingCall]) -> str:
    """The commands with which somebody can make it go on."""
    verbs = ["answer"] if any(waiting.question for waiting in calls) else []
    if not all(waiting.question for waiting in calls):
        verbs = ["complete", "fail", "deny", "approve", *verbs]
    return (
        f"See what is asked, and the tokens, with: errands session pending {sid} --show-tokens\n"
        f"Answer with: errands session {'|'.join(verbs)} TOKEN …"
    )


def _line(waiting: PendingCall) -> str:
    question = waiting.question
    if question is None:
        why = f": {waiting.reason}" if waiting.reason else ""
    else:
        choices = f" ({' / '.join(question.choices)})" if question.choices else ""
        why = f": {question.text}{choices}"
    return " ".join(for_terminal(f"{waiting.call.tool} ({waiting.call.provider_id}){why}").split())
