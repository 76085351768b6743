"""The agents that a store knows by their slugs."""

from __future__ import annotations

from typing import Any, cast

from errands_config import keys
from errands_orchestrator import reads
from errands_orchestrator.definitions import StoredAgent


async def publish(store: reads.Store, slug: str, agent: StoredAgent) -> None:
    """Make an agent known under its slug, for sessions that begin from now on. Running ones keep theirs."""
    async with store.pipeline(transaction=True) as pipe:
        pipe.set(keys.agent(agent.digest), agent.text, ex=keys.DEFINITION_SECONDS)
        cast("Any", pipe.hset(keys.AGENTS, slug, agent.digest))
        await pipe.execute()
