"""What a watched run leaves for its person: the answer, or what it waits for, on stdout; how to go on; an exit code."""

from __future__ import annotations

from pathlib import Path

from errands_orchestrator import reads, sessions
from errands_orchestrator.cli.blocked import how_to_answer, report, what_waits
from errands_orchestrator.cli.exit_codes import Exit
from errands_orchestrator.cli.output import print_json, print_text, say
from errands_orchestrator.cli.watching import Ending
from errands_orchestrator.session import AssistantEntry

_CODES: dict[str, Exit] = {
    "completed": Exit.OK,
    "cancelled": Exit.CANCELLED,
    "paused": Exit.PAUSED,
    "blocked": Exit.PAUSED_ON_DEFERRED_CALLS,
    "timeout": Exit.TIMEOUT,
    "interrupted": Exit.INTERRUPTED,
}


async def answer_of(store: reads.Store, sid: str) -> str:
    """What the model said last; empty if it has said nothing."""
    entries = await sessions.entries_of(store, sid)
    return next((entry.text for entry in reversed(entries) if isinstance(entry, AssistantEntry)), "")


async def told(store: reads.Store, sid: str, ending: Ending, *, as_json: bool, agent_file: Path | None = None) -> Exit:
    """Print what there is to print."""
    answer = await answer_of(store, sid) if ending.status == "completed" else None
    if ending.status == "blocked":
        print_json(report(sid, ending.pending))
    elif as_json:
        print_json({"session_id": sid, "status": ending.status, "answer": answer})
    elif answer is not None:
        print_text(answer)
    if answer is None:
        say(f"errands: {what_happened(ending)}\n{how_to_go_on(sid, ending, agent_file)}")
    return code_of(ending)


def code_of(ending: Ending) -> Exit:
    """The exit code of an ending."""
    return _CODES[ending.status]


def what_happened(ending: Ending) -> str:
    """An ending without an answer, in words."""
    match ending.status:
        case "paused":
            return f"the run is paused: {ending.cause}"
        case "blocked":
            return f"the run waits for somebody outside:\n{what_waits(ending.pending)}"
        case "cancelled":
            return "the run was cancelled by somebody else"
        case "timeout":
            return "the run has not ended in time and goes on where it is"
        case _:
            return "interrupted"


def how_to_go_on(sid: str, ending: Ending, agent_file: Path | None) -> str:
    """What a person can do with the session now."""
    with_file = f" --agent-file {agent_file}" if agent_file else ""
    resume = f"errands session resume {sid}{with_file}"
    if ending.stopped or ending.status == "cancelled":
        # there is no run to resume: it takes a message to begin another
        look = f"The session is kept. Look at it with: errands session print {sid}"
        return f"{look}\nGo on with: {say_more(sid)} && {resume}"
    answer = f"{how_to_answer(sid, ending.pending)}\n" if ending.status == "blocked" else ""
    return f"{answer}The session is kept. Go on with: {resume}"


def say_more(sid: str) -> str:
    """The command that says something to a session."""
    return f"errands session send {sid} TEXT"
