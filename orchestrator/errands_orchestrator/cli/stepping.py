"""A session brought one answer of its model further."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from errands_config.errors import Conflict, ModelError
from errands_config.store import aio
from errands_orchestrator import reads, sessions
from errands_orchestrator.call_search import OPEN, Wanted, wanted_calls
from errands_orchestrator.calls import CallRow
from errands_orchestrator.cli.board import BoardCall
from errands_orchestrator.cli.conducting import conduct
from errands_orchestrator.cli.connecting import Reached
from errands_orchestrator.cli.ending import code_of, how_to_go_on, say_more, what_happened
from errands_orchestrator.cli.exit_codes import Exit
from errands_orchestrator.cli.following import present
from errands_orchestrator.cli.interrupts import interrupts
from errands_orchestrator.cli.manner import Manner
from errands_orchestrator.cli.output import Row, print_json, print_text, say
from errands_orchestrator.cli.own_worker import OwnWorker
from errands_orchestrator.cli.resuming import known_agent, watched_now
from errands_orchestrator.cli.standing import standing_of
from errands_orchestrator.cli.tools_at_hand import tools_again
from errands_orchestrator.cli.watching import Ending, Watched
from errands_orchestrator.control import STEPPED
from errands_orchestrator.session import AssistantEntry


@dataclass(frozen=True, slots=True)
class Stepped:
    """What came of one step."""

    ending: Ending
    said: str
    """The model's words."""
    running: Sequence[CallRow]
    """The calls that have not ended."""

    @property
    def code(self) -> Exit:
        """How the command ends."""
        return code_of(self.ending)


async def stepped(there: Reached, sid: str, own: OwnWorker | None, manner: Manner) -> Exit:
    """Do one step and print what came of it. Raises NotFound, and Conflict where there is nothing to do."""
    async with aio(there.settings) as store:
        since = await present(store, sid)  # before the look: what ends in between is seen as news
        if await standing_of(store, sid) not in ("going on", "paused"):
            raise Conflict(f"session {sid} has nothing to do; say something with: {say_more(sid)}")
        try:
            known = await known_agent(store, there, sid, own)
        except ModelError as unusable:
            return _told(sid, Stepped(Ending("paused", str(unusable)), "", ()), manner)
        async with tools_again(store, there, sid, known.brief.tools, own):
            await sessions.control(store, sid, "resume", turns=1)
            watched = replace(await watched_now(store, sid, since), aloud=False)
            return _told(sid, await one_step(store, there, watched, manner), manner)


async def one_step(store: reads.Store, there: Reached, watched: Watched, manner: Manner) -> Stepped:
    """Bring a session, which was told to stop behind its next answer, there."""
    with interrupts() as pressed:
        ending = await conduct(store, there, watched, manner, pressed)
    entries = await sessions.entries_of(store, watched.sid, watched.since.entries)
    said = [entry.text for entry in entries if isinstance(entry, AssistantEntry) and entry.text]
    running = await wanted_calls(store, Wanted(OPEN, session=watched.sid))
    return Stepped(ending, "\n\n".join(said), running[::-1])


def _told(sid: str, step: Stepped, manner: Manner) -> Exit:
    if manner.as_json:
        print_json(step_facts(sid, step))
    else:
        tell_step(sid, step, print_text)
    return step.code


def tell_step(sid: str, step: Stepped, show: Callable[[str], None]) -> None:
    """Tell a person: the words go to `show`, the rest to stderr."""
    if step.said:
        show(step.said)
    for row in step.running:
        say(BoardCall(row.id, row.provider_id, row.tool, row.state).line)
    if step.ending.cause == STEPPED:
        say(f"paused behind this answer; the next one: errands session step {sid}")
    elif step.ending.status != "completed":
        say(f"errands: {what_happened(step.ending)}\n{how_to_go_on(sid, step.ending, None)}")


def step_facts(sid: str, step: Stepped) -> Row:
    """The same as JSON. `answer` is null unless the run has ended with it."""
    return {
        "session_id": sid,
        "status": step.ending.status,
        "cause": step.ending.cause or None,
        "said": step.said,
        "answer": step.said if step.ending.status == "completed" else None,
        "running_calls": [
            {"tool_call_id": row.id, "provider_call_id": row.provider_id, "tool": row.tool, "status": str(row.state)}
            for row in step.running
        ],
    }
