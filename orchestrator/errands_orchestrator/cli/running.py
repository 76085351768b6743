"""A new session from its prompt to its answer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from errands_config.agent import Agent
from errands_config.errors import ConfigError, ModelError
from errands_config.settings import Settings
from errands_config.store import aio
from errands_orchestrator import sessions
from errands_orchestrator.cli.conducting import Watched, conduct
from errands_orchestrator.cli.connecting import Reached
from errands_orchestrator.cli.ending import told
from errands_orchestrator.cli.exit_codes import Exit
from errands_orchestrator.cli.following import Point
from errands_orchestrator.cli.manner import Manner
from errands_orchestrator.cli.tools_at_hand import tools_at_hand
from errands_orchestrator.definitions import StoredAgent, definitions
from errands_orchestrator.models.choosing import choosing


@dataclass(frozen=True, slots=True)
class Errand:
    """What is to be run."""

    agent: Agent
    made: StoredAgent
    file: Path
    """The agent file, for a worker that serves its toolboxes."""
    prompt: str


async def ran(there: Reached, errand: Errand, manner: Manner) -> Exit:
    """Run it and print what came of it."""
    await check_model(there.settings, errand)
    async with (
        aio(there.settings) as store,
        tools_at_hand(store, there, errand.agent, errand.file) as tools,
    ):
        made_of = definitions(errand.made, tools)
        sid = await sessions.start(store, errand.agent.slug, made_of, errand.prompt)
        ending = await conduct(store, there, Watched(sid, errand.prompt, Point()), manner)
        return await told(store, sid, ending, as_json=manner.as_json, agent_file=errand.file)


async def check_model(settings: Settings, errand: Errand) -> None:
    """Raises ConfigError if the agent's model cannot even be asked: no name, no key, a script that cannot be read."""
    try:
        model, _ = choosing(settings)(errand.agent, errand.made.script)
    except ModelError as unusable:
        raise ConfigError(str(unusable)) from None
    await model.close()
