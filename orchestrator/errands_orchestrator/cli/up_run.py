"""One `errands up` from its first process to the end of its last."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence

from errands_config.errors import ConfigError, ModelError
from errands_config.store import aio
from errands_orchestrator import reads
from errands_orchestrator.cli.connecting import Reached
from errands_orchestrator.cli.exit_codes import Exit
from errands_orchestrator.cli.own_worker import OwnWorker
from errands_orchestrator.cli.stop_requests import StopRequests
from errands_orchestrator.cli.up_crew import Crew
from errands_orchestrator.cli.up_news import Note, Published
from errands_orchestrator.cli.up_store import WatchedStore
from errands_orchestrator.cli.up_telling import Telling
from errands_orchestrator.definitions import StoredAgent, stored
from errands_orchestrator.ending import end_all
from errands_orchestrator.models.choosing import choosing
from errands_orchestrator.published import publish


async def kept_up(
    there: Reached, agents: Sequence[OwnWorker], slots: int | None, told: Telling, requests: StopRequests
) -> Exit:
    """Come up, stay until asked to stop, stop in order. Answers 1 if calls were lost, or something had to be killed.

    Raises ConfigError if a worker does not come up; nothing is left running then, either.
    """
    async with aio(there.settings) as store:
        await _publish(store, there, agents, told)
        crew = Crew(store, there, agents, slots, told.tell)
        clean = False
        try:
            if await _unless_asked(crew.come_up(), requests):
                watched = WatchedStore(there, told.tell)
                await _unless_asked(_stay(crew, watched.watch(told.show)), requests)
        finally:
            clean = await crew.stop(requests)
        return Exit.OK if clean else Exit.RUN_FAILED


async def _stay(crew: Crew, watching: Coroutine[None, None, None]) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(crew.stay())
        group.create_task(watching)


async def _unless_asked(work: Coroutine[None, None, None], requests: StopRequests) -> bool:
    """Do some work, and let go of it when the end is asked for; whether it was done."""
    tasks = [asyncio.create_task(work), asyncio.create_task(requests.reach(1))]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if tasks[0].done():
            tasks[0].result()
            return True
        return False
    finally:
        await end_all(tasks)


async def _publish(store: reads.Store, there: Reached, agents: Sequence[OwnWorker], told: Telling) -> None:
    """Make the agents known, and say which of them have no model that could be asked."""
    for one in agents:
        made = stored(one.agent, one.file.parent)
        await publish(store, one.agent.slug, made)
        told.tell(Published(agent=one.agent.slug, digest=made.digest, file=str(one.file)))
        if trouble := await _trouble_with_model(there, one, made):
            text = f"agent {one.agent.slug}: its model cannot be asked, so its sessions will pause: {trouble}"
            told.tell(Note(text=text))


async def _trouble_with_model(there: Reached, one: OwnWorker, made: StoredAgent) -> str:
    try:
        model, _ = choosing(there.settings)(one.agent, made.script)
    except (ModelError, ConfigError) as unusable:
        return str(unusable)
    await model.close()
    return ""
