"""Why an answer from outside changes nothing, in words."""

from __future__ import annotations

from errands_config.errors import AnswerRefused, Conflict, ErrandsError, NotFound
from errands_config.scripts.deferred import OutsideAnswer
from errands_config.text import clean
from errands_config.wire import CallState
from errands_orchestrator import reads
from errands_orchestrator.addressed import Addressed
from errands_orchestrator.calls import CallRow, call_row
from errands_orchestrator.texts import end_text

_SHOWN = 200
"""Characters of a recorded end that a conflict shows."""
_READ = 4_096


async def refusal(store: reads.Store, meant: Addressed, answer: OutsideAnswer) -> ErrandsError:
    """The error for an answer that was not taken."""
    call = f"call {meant.place.cid} ({meant.place.tool})"
    if answer.outcome == "unknown":
        return NotFound(f"no {call} any more: it is gone from the store")
    row = await call_row(store, meant.place.cid) if answer.outcome == "conflict" else None
    return AnswerRefused(_why(call, meant, answer, row), state=answer.state)


def _why(call: str, meant: Addressed, answer: OutsideAnswer, row: CallRow | None) -> str:
    match answer.outcome:
        case "conflict":
            return f"{call} {_recorded(row, answer.state)}"
        case "gone":
            return f"{call} {_gone(answer.state)}; the answer came too late, and that it came is recorded"
        case "stale":
            where = f"`errands session pending {meant.place.sid} --show-tokens`"
            return f"this token is of an earlier deferral of {call}, which is {answer.state} now; see {where}"
        case _ if answer.state == CallState.DEFERRED:
            return f"{call} waits for a result and not for leave to run: complete it, fail it or deny it"
        case _:
            return f"{call} is not deferred: it is {answer.state}"


def not_for_questions(meant: Addressed) -> Conflict:
    """What is said to who wants to complete, fail, deny or approve a question."""
    return Conflict(
        f"call {meant.place.cid} is a question to the user: `errands session answer` answers or dismisses it"
    )


def no_question(meant: Addressed) -> Conflict:
    """What is said to who wants to answer something else."""
    return Conflict(f"call {meant.place.cid} ({meant.place.tool}) is no question: complete it, fail it or deny it")


def _recorded(row: CallRow | None, state: str) -> str:
    if row is None or row.outcome is None:
        return f"was approved before: it is {row.state if row else state} now"
    said = " ".join(clean(end_text(row.outcome, _READ)).text.split())
    shown = said if len(said) <= _SHOWN else f"{said[: _SHOWN - 1]}…"
    return f"had an answer before: it is {row.state}: {shown}"


def _gone(state: str) -> str:
    match state:
        case CallState.EXPIRED:
            return "expired: nobody answered in time"
        case CallState.CANCELLED:
            return "was cancelled"
        case _:
            return f"had ended: it is {state}"
