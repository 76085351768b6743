"""The agent that a caller means: a file, an agent that was parsed, or a slug that is known to the store."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from pydantic import JsonValue

from errands_config.agent import Agent, load_agent, parse_agent
from errands_config.settings import Settings
from errands_config.toolboxes import toolboxes_of
from errands_orchestrator import reads
from errands_orchestrator.definitions import StoredAgent, stored
from errands_orchestrator.parameters import parameter_values
from errands_orchestrator.published import published

AgentLike: TypeAlias = "Agent | Path | str"
"""A file, a parsed agent, or the slug of a published one. A `str` with a slash or a suffix is a path."""


@dataclass(frozen=True, slots=True)
class Given:
    """An agent, as it is and as the store keeps it."""

    agent: Agent
    made: StoredAgent
    file: Path | None
    """Its file, which a worker can be started with; None: the agent came without one."""
    folder: Path | None = None
    """Where its defaults look files and commands up; None: it came from the store, and they are not looked up."""

    async def parameters(self, values: Mapping[str, JsonValue] | None) -> str:
        """The values of a new session's parameters, as its head keeps them. Raises ConfigError.

        A default may be a command, so they are read beside the event loop.
        """
        return await asyncio.to_thread(parameter_values, self.agent, self.folder, values or {})


async def given(store: reads.Store, agent: AgentLike, settings: Settings) -> Given:
    """The agent that is meant. Raises ConfigError for a file that cannot be used, NotFound for an unknown slug."""
    if isinstance(agent, Agent):
        return Given(agent, stored(agent, Path.cwd()), None, Path.cwd())
    if _is_path(agent):
        return _from_file(Path(agent), settings)
    made = await published(store, str(agent))
    return Given(parse_agent(made.file, origin=f"published agent {agent}", api_key_ids=None), made, None)


def _is_path(agent: Path | str) -> bool:
    path = Path(agent)
    return isinstance(agent, Path) or path.is_file() or bool(path.suffix) or len(path.parts) > 1


def _from_file(file: Path, settings: Settings) -> Given:
    agent = load_agent(file, api_key_ids=settings.api_keys.keys())
    toolboxes_of(agent, file.parent)
    return Given(agent, stored(agent, file.parent), file, file.absolute().parent)
