"""Going on with a session that was left or paused."""

from __future__ import annotations

from functools import partial

from errands_config import keys
from errands_config.errors import ConfigError, Conflict, ModelError
from errands_config.store import aio
from errands_orchestrator import reads, sessions
from errands_orchestrator.cli.conducting import conduct
from errands_orchestrator.cli.connecting import Reached
from errands_orchestrator.cli.draining import drained
from errands_orchestrator.cli.ending import say_more, told
from errands_orchestrator.cli.exit_codes import Exit
from errands_orchestrator.cli.following import Point, present
from errands_orchestrator.cli.interrupts import interrupts
from errands_orchestrator.cli.manner import Manner
from errands_orchestrator.cli.output import say
from errands_orchestrator.cli.own_worker import OwnWorker
from errands_orchestrator.cli.standing import snapshot_of, standing_of
from errands_orchestrator.cli.tools_at_hand import tools_again
from errands_orchestrator.cli.watching import Ending, Watched
from errands_orchestrator.definitions import Known, Library
from errands_orchestrator.models.choosing import choosing
from errands_orchestrator.session import UserEntry


async def resumed(there: Reached, sid: str, own: OwnWorker | None, manner: Manner) -> Exit:
    """Bring a session to the end of its run and print its answer. Raises NotFound, and Conflict where there is none."""
    async with aio(there.settings) as store:
        since = await present(store, sid)  # before the look: what ends in between is seen as news
        match await standing_of(store, sid):
            case "cancelled":
                raise Conflict(f"the run of session {sid} was cancelled; begin another with: {say_more(sid)}")
            case "new":
                raise Conflict(f"nothing was said in session {sid} yet; begin with: {say_more(sid)}")
            case "completed":
                return await told(store, sid, Ending("completed"), as_json=manner.as_json)
            case "resting":
                await sessions.control(store, sid, "resume")
                return await told(store, sid, Ending("completed"), as_json=manner.as_json)
            case "paused" | "going on":
                await _tell_cause(store, sid)
                return await _gone_on(store, there, await watched_now(store, sid, since), own, manner)


async def _gone_on(store: reads.Store, there: Reached, watched: Watched, own: OwnWorker | None, manner: Manner) -> Exit:
    told_of = partial(told, store, watched.sid, as_json=manner.as_json, agent_file=own.file if own else None)
    try:
        known = await known_agent(store, there, watched.sid, own)
    except ModelError as unusable:
        return await told_of(Ending("paused", str(unusable)))
    async with tools_again(store, there, watched.sid, known.brief.tools, own) as worker:
        # for a run that is not paused it means nothing, so there is no race to lose
        await sessions.control(store, watched.sid, "resume")
        with interrupts() as pressed:
            ending = await conduct(store, there, watched, manner, pressed)
            code = await told_of(ending)
            if worker and ending.status == "interrupted":
                await drained(store, worker, pressed)
        return code


async def known_agent(store: reads.Store, there: Reached, sid: str, own: OwnWorker | None) -> Known:
    """The session's agent and tools; its model can be asked. Raises ModelError, ConfigError."""
    agent, tools, slug = await reads.fields(store, keys.session(sid), ("agent", "tools", "slug"))
    if own and own.agent.slug != slug:
        raise ConfigError(f"session {sid} has agent {slug!r}, this file {own.agent.slug!r}", path="--agent-file")
    library = Library(store, choosing(there.settings), there.settings.shared_limits)
    known = await library.known(agent or "", tools or "")
    await library.close()
    return known


async def _tell_cause(store: reads.Store, sid: str) -> None:
    session, _ = await snapshot_of(store, sid)
    if session.is_paused:
        say(f"going on; it was paused: {session.cause}")


async def watched_now(store: reads.Store, sid: str, since: Point) -> Watched:
    """The session to watch, under what a person said last in it."""
    entries = await sessions.entries_of(store, sid)
    spoken = (entry.text for entry in reversed(entries) if isinstance(entry, UserEntry) and entry.from_person)
    return Watched(sid, next(spoken, ""), since)
