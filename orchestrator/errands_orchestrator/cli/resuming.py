"""Going on with a session that was left or paused."""

from __future__ import annotations

from errands_config import keys
from errands_config.errors import ConfigError, Conflict, ModelError
from errands_config.store import aio
from errands_orchestrator import reads, sessions
from errands_orchestrator.cli.conducting import Watched, conduct
from errands_orchestrator.cli.connecting import Reached
from errands_orchestrator.cli.ending import told
from errands_orchestrator.cli.exit_codes import Exit
from errands_orchestrator.cli.following import Point, present
from errands_orchestrator.cli.manner import Manner
from errands_orchestrator.cli.own_worker import OwnWorker
from errands_orchestrator.cli.standing import standing_of
from errands_orchestrator.cli.tools_at_hand import tools_again
from errands_orchestrator.cli.watching import Ending
from errands_orchestrator.definitions import Known, Library
from errands_orchestrator.models.choosing import choosing
from errands_orchestrator.session import UserEntry


async def resumed(there: Reached, sid: str, own: OwnWorker | None, manner: Manner) -> Exit:
    """Bring a session to the end of its run, and print its answer. Raises NotFound, and Conflict after a cancel."""
    file = own.file if own else None
    async with aio(there.settings) as store:
        since = await present(store, sid)  # before the look: what ends in between is seen as news
        standing = await standing_of(store, sid)
        if standing == "cancelled":
            raise Conflict(f"the run of session {sid} was cancelled: there is nothing to resume")
        ending = Ending("completed") if standing == "completed" else None
        if ending is None:
            ending = await _gone_on(store, there, await _watched(store, sid, since), own, manner)
        return await told(store, sid, ending, as_json=manner.as_json, agent_file=file)


async def _gone_on(
    store: reads.Store, there: Reached, watched: Watched, own: OwnWorker | None, manner: Manner
) -> Ending:
    try:
        known = await _known(store, there, watched.sid, own)
    except ModelError as unusable:
        return Ending("paused", str(unusable))
    async with tools_again(store, there, watched.sid, known.brief.tools, own):
        # for a run that is not paused it means nothing, so there is no race to lose
        await sessions.control(store, watched.sid, "resume")
        return await conduct(store, there, watched, manner)


async def _known(store: reads.Store, there: Reached, sid: str, own: OwnWorker | None) -> Known:
    """The session's agent and tools; its model can be asked. Raises ModelError, ConfigError."""
    agent, tools, slug = await reads.fields(store, keys.session(sid), ("agent", "tools", "slug"))
    if own and own.agent.slug != slug:
        raise ConfigError(f"session {sid} has agent {slug!r}, this file {own.agent.slug!r}", path="--agent-file")
    library = Library(store, choosing(there.settings))
    known = await library.known(agent or "", tools or "")
    await library.close()
    return known


async def _watched(store: reads.Store, sid: str, since: Point) -> Watched:
    """The session to watch, under what a person said last in it."""
    entries = await sessions.entries_of(store, sid)
    spoken = (entry.text for entry in reversed(entries) if isinstance(entry, UserEntry) and entry.from_person)
    return Watched(sid, next(spoken, ""), since)
