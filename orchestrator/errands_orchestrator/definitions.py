"""Agent files and tool lists as sessions keep them, and what is made of them once for all their sessions.

A stored agent names no path: the script of a `Scripted` model is stored with it.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import orjson
from pydantic import TypeAdapter

from errands_config import keys
from errands_config.agent import Agent, parse_agent
from errands_config.errors import ConfigError, ModelError, NotFound
from errands_config.policy import compile_policy
from errands_config.scripts.sessions import Definitions
from errands_config.stored_agent import StoredAgent
from errands_config.wire import SharedLimit, ToolOffer
from errands_orchestrator import reads
from errands_orchestrator.brief import Brief, Toolset
from errands_orchestrator.catalogue import without_bound
from errands_orchestrator.injected import check_no_own_handles
from errands_orchestrator.models.async_tools import has_async_tools
from errands_orchestrator.models.model import Model, ModelRequest, Reply
from errands_orchestrator.transcript import tools_body

_OFFERS = TypeAdapter(tuple[ToolOffer, ...])
MakeModel: TypeAlias = Callable[[Agent, str], tuple[Model, str]]
"""From an agent and the script stored with it to its model and that model's name."""
KEPT = 256
"""Agents with their tools that one process keeps ready."""


def stored(agent: Agent, folder: Path) -> StoredAgent:
    """An agent as the store keeps it. A `Scripted` agent's `modelUrl` is its script file, looked up in `folder`."""
    if agent.flavor != "Scripted":
        return StoredAgent(file=agent.canonical)
    if agent.model_url is None:
        raise ConfigError("a Scripted agent names its script file here", path="modelUrl")
    script = folder / agent.model_url
    if not script.is_file():
        raise ConfigError(f"no script file {agent.model_url!r} beside the agent file", path="modelUrl")
    return StoredAgent(file=agent.canonical, script=script.read_text())


def definitions(agent: StoredAgent, tools: Toolset, parameters: str = "") -> Definitions:
    """What a new session is made of. `parameters`: the values of its parameters, as `parameter_values` gives them.

    Its tools are listed without the arguments that are bound. Raises ConfigError for a tool that cannot be listed.
    """
    read = parse_agent(agent.file, origin="a stored agent", api_key_ids=None)
    seen = without_bound(read, tools, parameters)
    check_no_own_handles(read, compile_policy(read), seen.offers)
    listed = dump_toolset(seen)
    digest = hashlib.sha256(listed.encode()).hexdigest()
    return Definitions(agent.digest, agent.text, digest, listed, read.mail_scope, read.interrupt_scope, parameters)


@dataclass(frozen=True, slots=True)
class Known:
    """An agent with its tools, ready to step its sessions."""

    brief: Brief
    model: Model
    model_name: str
    tools: bytes


class Library:
    """Reads definitions from the store and keeps the newest `KEPT`."""

    def __init__(self, store: reads.Store, make_model: MakeModel, limits: Sequence[SharedLimit] = ()) -> None:
        self._store = store
        self._limits = limits
        self._make_model = make_model
        self._known: OrderedDict[tuple[str, str], Known] = OrderedDict()
        self._reading = asyncio.Lock()

    async def known(self, agent_digest: str, tools_digest: str) -> Known:
        """The agent and tools of a session.

        Raises NotFound when the store has them no more, ConfigError when they cannot be used in this process.
        """
        pair = (agent_digest, tools_digest)
        async with self._reading:  # sessions of one agent that wake together share one model
            known = self._known.get(pair) or await self._read(*pair)
            self._known[pair] = known
            self._known.move_to_end(pair)
            while len(self._known) > KEPT:
                _, dropped = self._known.popitem(last=False)
                await dropped.model.close()
        return known

    async def _read(self, agent_digest: str, tools_digest: str) -> Known:
        agent_text, tools_text = await reads.texts(self._store, keys.agent(agent_digest), keys.toolset(tools_digest))
        if agent_text is None or tools_text is None:
            raise NotFound(f"agent {agent_digest[:12]} is not in the store any more: start a new session")
        await self._store.expire(keys.agent(agent_digest), keys.DEFINITION_SECONDS)
        await self._store.expire(keys.toolset(tools_digest), keys.DEFINITION_SECONDS)
        stored_agent = StoredAgent.model_validate_json(agent_text)
        origin = f"stored agent {agent_digest[:12]}"
        names = [limit.name for limit in self._limits]
        agent = parse_agent(stored_agent.file, origin=origin, api_key_ids=None, limit_names=names)
        model, name = self._make_model(agent, stored_agent.script)
        policy, tools = compile_policy(agent, self._limits), load_toolset(tools_text)
        brief = Brief(agent, policy, tools, async_tools=has_async_tools(agent, name))
        return Known(brief, model, name, tools_body(brief))

    async def close(self) -> None:
        """Close every model."""
        for known in self._known.values():
            await known.model.close()
        self._known.clear()


class _Unusable:
    """The model of an agent that cannot be used."""

    def __init__(self, why: str) -> None:
        self._why = why

    async def reply(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> Reply:
        raise ModelError(self._why, cause=self._why, retryable=False)

    async def close(self) -> None: ...


def unusable(slug: str, why: str) -> Known:
    """What stands for an agent that is gone, or that this process has no key or model for.

    Its sessions take in what comes, and are paused with the cause as soon as they need the model.
    """
    agent = parse_agent(orjson.dumps({"slug": slug, "executionMode": "asynchronous"}).decode(), origin="a stand-in")
    return Known(Brief(agent, compile_policy(agent), Toolset()), _Unusable(why), "", b"")


def dump_toolset(tools: Toolset) -> str:
    """A tool list as JSON text: the same tools give the same bytes."""
    return _OFFERS.dump_json(tools.offers).decode()


def load_toolset(text: str) -> Toolset:
    """A tool list as it was kept."""
    return Toolset(_OFFERS.validate_json(text))
