"""The agents that a store knows by their slugs."""

from __future__ import annotations

from typing import Any, cast

from errands_config import keys
from errands_config.errors import NotFound
from errands_orchestrator import reads
from errands_orchestrator.definitions import StoredAgent


async def publish(store: reads.Store, slug: str, agent: StoredAgent) -> None:
    """Make an agent known under its slug, for sessions that begin from now on. Running ones keep theirs."""
    async with store.pipeline(transaction=True) as pipe:
        pipe.set(keys.agent(agent.digest), agent.text, ex=keys.DEFINITION_SECONDS)
        cast("Any", pipe.hset(keys.AGENTS, slug, agent.digest))
        await pipe.execute()


async def published(store: reads.Store, slug: str) -> StoredAgent:
    """The agent of a slug. Raises NotFound for one that no session was made of, or that the store has dropped."""
    digest = await reads.field(store, keys.AGENTS, slug)
    [text] = await reads.texts(store, keys.agent(digest)) if digest else [None]
    if text is None:
        raise NotFound(f"no agent file and no published agent {slug!r}: `errands agent list` lists those")
    return StoredAgent.model_validate_json(text)
