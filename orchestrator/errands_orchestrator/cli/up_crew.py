"""The processes of one `errands up`: an orchestrator, and workers for the tools that nobody else offers."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from errands_config.errors import ConfigError
from errands_orchestrator import reads
from errands_orchestrator.catalogue import live_offers
from errands_orchestrator.cli.connecting import Reached
from errands_orchestrator.cli.keeping import Kept, Tell
from errands_orchestrator.cli.own_log import new_log
from errands_orchestrator.cli.own_process import environment_for_tools, environment_of_ours, start_process
from errands_orchestrator.cli.own_worker import (
    READY_SECONDS,
    OwnWorker,
    calls_on,
    incarnations_of,
    worker_command,
    workers_for,
)
from errands_orchestrator.cli.stop_requests import StopRequests
from errands_orchestrator.cli.tools_at_hand import has_toolboxes
from errands_orchestrator.cli.up_news import Note, Ready, Stopping
from errands_orchestrator.cli.up_status import beating

_LOOK_SECONDS = 0.1
_MISSING_SECONDS = 1.0
"""Time between two looks at the workers of others."""
_IN_ORDER = (0, -signal.SIGTERM)
"""Exit codes of what was told to stop; the second: before it could listen."""
_ORCHESTRATOR = [sys.executable, "-m", "errands_orchestrator", "orchestrator"]


class Crew:
    """Starts what is missing and keeps it. `wanted`: the agents with their files; `slots`: of a worker, if set."""

    def __init__(
        self, store: reads.Store, there: Reached, wanted: Sequence[OwnWorker], slots: int | None, tell: Tell
    ) -> None:
        self._store = store
        self._there = there
        self._wanted = [one for one in wanted if has_toolboxes(one.agent)]
        self._slots = slots
        self._tell = tell
        self._orchestrators: list[Kept] = []
        self._workers: list[Kept] = []
        self._ours: set[str] = set()
        """The agents that workers of ours are for."""

    async def come_up(self) -> None:
        """Start an orchestrator and, where nobody else offers an agent's tools, a worker; wait until it offers them.

        Raises ConfigError with the worker's last words if it does not come up.
        """
        self._orchestrators.append(self._kept("orchestrator", _ORCHESTRATOR, environment_of_ours(self._there)))
        missing = await self._unoffered(self._wanted)
        for slug in sorted(_slugs(self._wanted) - _slugs(missing)):
            self._tell(Note(text=f"agent {slug}: a worker that is there already offers its tools, so none is started"))
        if missing:
            await self._offering(self._worker_for(missing), missing)
        self._tell(Ready())

    async def stay(self) -> None:
        """Keep all of it; and where others offered an agent's tools and are gone, start a worker. For ever."""
        async with asyncio.TaskGroup() as group:
            for part in (*self._orchestrators, *self._workers):
                group.create_task(part.keep())
            while True:
                await asyncio.sleep(_MISSING_SECONDS)
                if left := await self._left_by_others():
                    slugs = ", ".join(sorted(_slugs(left)))
                    self._tell(Note(text=f"agent {slugs}: no worker offers its tools any more, starting one"))
                    group.create_task(self._worker_for(left).keep())

    async def stop(self, requests: StopRequests) -> bool:
        """Stop it in order, orchestrator first, and wait. False if calls were lost, or something had to be killed."""
        self._tell(Stopping(busy=await self._busy()))
        codes = [await orchestrator.stop(requests) for orchestrator in self._orchestrators]
        codes += await asyncio.gather(*(worker.stop(requests) for worker in self._workers))
        return all(code in _IN_ORDER for code in codes)

    # ---- its processes

    def _worker_for(self, agents: Sequence[OwnWorker]) -> Kept:
        part = f"worker {len(self._workers) + 1}" if self._workers else "worker"
        worker = self._kept(part, worker_command(agents, self._slots), environment_for_tools(self._there))
        self._workers.append(worker)
        self._ours |= _slugs(agents)
        return worker

    def _kept(self, part: str, command: Sequence[str], environment: Mapping[str, str]) -> Kept:
        new = partial(new_log, self._there.settings.home, f"up-{part.replace(' ', '-')}")
        return Kept(part, new, partial(start_process, command, environment), self._tell)

    async def _busy(self) -> int:
        try:
            return sum([len(await calls_on(self._store, worker.process)) for worker in self._workers])
        except reads.AWAY:
            return 0

    # ---- who offers what

    async def _offering(self, worker: Kept, agents: Sequence[OwnWorker]) -> None:
        give_up = time.monotonic() + READY_SECONDS
        while missing := await self._unoffered(agents):
            slugs = ", ".join(sorted(_slugs(missing)))
            if worker.process.poll() is not None:
                raise _failed(worker, f"ended with {worker.process.returncode}")
            if await self._has_offered(worker):
                raise _failed(worker, f"found no tool in the toolboxes of agent {slugs}")
            if time.monotonic() > give_up:
                raise _failed(worker, f"offered nothing for agent {slugs} within {READY_SECONDS:.0f} s")
            await asyncio.sleep(_LOOK_SECONDS)

    async def _has_offered(self, worker: Kept) -> bool:
        ours = await incarnations_of(self._store, worker.process)
        return any(live.worker in ours for live in await live_offers(self._store))

    async def _unoffered(self, agents: Sequence[OwnWorker]) -> list[OwnWorker]:
        """Those of the agents whose tools no worker offers that beats: what a dead one offered stands for a while."""
        living = await beating(self._store, self._there.settings)
        offers = [live for live in await live_offers(self._store) if live.worker in living]
        return [one for one in agents if not workers_for(one.agent.slug, offers)]

    async def _left_by_others(self) -> list[OwnWorker]:
        try:
            return await self._unoffered([one for one in self._wanted if one.agent.slug not in self._ours])
        except reads.AWAY:
            return []


def _slugs(agents: Iterable[OwnWorker]) -> set[str]:
    return {one.agent.slug for one in agents}


def _failed(worker: Kept, how: str) -> ConfigError:
    return ConfigError(f"the {worker.part} {how}: {worker.last_words} (see {worker.log})")
