"""The tools of an agent that a client starts: live workers offer them, or the client starts a worker of its own."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

from errands_config.agent import Agent
from errands_config.errors import NotFound
from errands_config.glob import matches
from errands_orchestrator.brief import Toolset
from errands_orchestrator.catalogue import live_offers, tools_of
from errands_orchestrator.cli.own_worker import OwnWorker, own_worker, workers_for
from errands_orchestrator.cli.tools_at_hand import has_toolboxes
from errands_orchestrator.client_agents import Given
from errands_orchestrator.client_place import Place


class Workers:
    """Starts workers for agents whose tools nobody offers; they stay until the client is closed."""

    def __init__(self, place: Place, ending: AsyncExitStack) -> None:
        """`ending` ends what was started."""
        self._place = place
        self._ending = ending
        self._starting = asyncio.Lock()

    async def tools_for(self, given: Given, *, may_start: bool) -> Toolset:
        """The agent's tools as they are offered now, from a worker of ours if need be and allowed.

        Raises NotFound for what nobody offers, ConfigError if a worker does not come up.
        """
        agent = given.agent
        async with self._starting:
            if has_toolboxes(agent) and not workers_for(agent.slug, await live_offers(self._place.store)):
                if given.file is None or not may_start:
                    raise NotFound(
                        f"no live worker offers the tools of agent {agent.slug}: start one with `errands worker FILE`"
                    )
                await self.start(agent, given.file)
        return await self._listed(agent)

    async def start(self, agent: Agent, file: Path) -> None:
        """Start a worker that serves an agent file's toolboxes. Raises ConfigError if it does not come up."""
        worker = own_worker(self._place.store, self._place.there, OwnWorker(agent, file))
        process = await self._ending.enter_async_context(worker)
        # told to go twice, a worker that runs nothing goes at once; one that runs something is told only this once
        self._ending.callback(process.terminate)

    async def have(self, tools: Toolset, given: Given | None) -> None:
        """See to it that the tools of a session are offered again. Raises NotFound, ConfigError."""
        async with self._starting:
            offered = {live.offer.name for live in await live_offers(self._place.store)}
            missing = sorted(tools.by_name.keys() - offered)
            if not missing:
                return
            if given is None or given.file is None:
                raise NotFound(
                    f"no live worker offers {', '.join(missing)}: start one with `errands worker FILE`, or name the"
                    " agent's file"
                )
            await self.start(given.agent, given.file)

    async def _listed(self, agent: Agent) -> Toolset:
        tools = tools_of(agent, await live_offers(self._place.store))
        for position, glob in enumerate(agent.tools):
            if not any(matches(glob, offer.name) for offer in tools.offers):
                raise NotFound(f"tools[{position}]: no live worker offers a tool named {glob!r}")
        return tools
