"""Agents by their slugs, as sessions were made of them last."""

from __future__ import annotations

from typing import Any, cast

from errands_config import keys
from errands_config.errors import NotFound
from errands_orchestrator import reads
from errands_orchestrator.definitions import StoredAgent


async def published(store: reads.Store, slug: str) -> StoredAgent:
    """The agent of a slug. Raises NotFound for one that no session was made of, or that the store has dropped."""
    digest = await reads.field(store, keys.AGENTS, slug)
    [text] = await reads.texts(store, keys.agent(digest)) if digest else [None]
    if text is None:
        raise NotFound(f"no agent file and no published agent {slug!r}: `errands agent list` lists those")
    return StoredAgent.model_validate_json(text)


async def publish(store: reads.Store, slug: str, made: StoredAgent) -> None:
    """Have a slug mean this agent from now on."""
    await store.set(keys.agent(made.digest), made.text, ex=keys.DEFINITION_SECONDS)
    await cast("Any", store.hset(keys.AGENTS, slug, made.digest))
