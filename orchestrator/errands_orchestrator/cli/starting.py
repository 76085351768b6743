"""A new session that is left to others, or stepped once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from errands_config.agent import Agent, parse_agent
from errands_config.settings import Settings
from errands_config.store import aio
from errands_orchestrator import reads, sessions
from errands_orchestrator.cli.agent import checked_agent
from errands_orchestrator.cli.connecting import Reached
from errands_orchestrator.cli.exit_codes import Exit
from errands_orchestrator.cli.following import Point
from errands_orchestrator.cli.manner import Manner
from errands_orchestrator.cli.output import print_json, print_text, say
from errands_orchestrator.cli.stepping import one_step, step_facts, tell_step
from errands_orchestrator.cli.tools_at_hand import tools_at_hand
from errands_orchestrator.cli.watching import Watched
from errands_orchestrator.definitions import StoredAgent, definitions, stored
from errands_orchestrator.parameters import parameter_values
from errands_orchestrator.published import published


@dataclass(frozen=True, slots=True)
class Named:
    """An agent as a command line names it."""

    agent: Agent
    made: StoredAgent
    file: Path | None
    """None: it was named by its slug."""


def from_file(name: str, settings: Settings) -> Named | None:
    """The agent of a file; None if the name is that of no file but may be a slug. Raises ConfigError."""
    file = Path(name)
    if not (file.is_file() or file.suffix or len(file.parts) > 1):
        return None
    agent = checked_agent(file, settings)
    return Named(agent, stored(agent, file.parent), file)


async def _from_store(store: reads.Store, slug: str) -> Named:
    made = await published(store, slug)
    return Named(parse_agent(made.file, origin=f"published agent {slug}", api_key_ids=None), made, None)


async def started(
    there: Reached, found: Named | str, prompt: str, manner: Manner, given: Mapping[str, JsonValue]
) -> Exit:
    """Start a session of an agent or a slug, do one step of it if that is wanted, and print its id.

    `given`: values of parameters.
    """
    async with aio(there.settings) as store:
        it = await _from_store(store, found) if isinstance(found, str) else found
        values = parameter_values(it.agent, it.file.absolute().parent if it.file else None, given)
        async with tools_at_hand(store, there, it.agent, it.file) as at_hand:
            made_of = definitions(it.made, at_hand.tools, values)
            sid = await sessions.start(store, it.agent.slug, made_of, "" if manner.stepping else prompt)
            if manner.stepping:
                return await _stepped(store, there, sid, prompt, manner)
        if manner.as_json:
            print_json({"session_id": sid, "agent": it.agent.slug, "status": await sessions.status_of(store, sid)})
        else:
            print_text(sid)
        if at_hand.worker:
            say(f"its tools are offered again with: errands session resume {sid} --agent-file {it.file}")
        return Exit.OK


async def _stepped(store: reads.Store, there: Reached, sid: str, prompt: str, manner: Manner) -> Exit:
    """The bound of one answer is set before there is anything to answer: others may step the session, too."""
    if not manner.as_json:
        print_text(sid)
    await sessions.control(store, sid, "resume", turns=1)
    await sessions.send(store, sid, prompt)
    step = await one_step(store, there, Watched(sid, prompt, Point(), aloud=False), manner)
    if manner.as_json:
        print_json(step_facts(sid, step))
    else:
        tell_step(sid, step, say)
    return step.code
