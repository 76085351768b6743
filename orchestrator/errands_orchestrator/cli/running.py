"""A new session from its prompt to its answer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import orjson

from errands_config.agent import Agent, parse_agent
from errands_config.errors import ConfigError, ModelError
from errands_config.settings import Settings
from errands_config.store import aio
from errands_orchestrator import reads, sessions
from errands_orchestrator.cli.conducting import conduct
from errands_orchestrator.cli.connecting import Reached
from errands_orchestrator.cli.draining import drained
from errands_orchestrator.cli.ending import told
from errands_orchestrator.cli.exit_codes import Exit
from errands_orchestrator.cli.following import Point
from errands_orchestrator.cli.interrupts import interrupts
from errands_orchestrator.cli.manner import Manner
from errands_orchestrator.cli.output import say
from errands_orchestrator.cli.tools_at_hand import AtHand, tools_at_hand
from errands_orchestrator.cli.watching import Watched
from errands_orchestrator.definitions import StoredAgent, definitions
from errands_orchestrator.models.choosing import choosing
from errands_orchestrator.published import publish


@dataclass(frozen=True, slots=True)
class Errand:
    """What is to be run."""

    agent: Agent
    made: StoredAgent
    file: Path
    """The agent file, for a worker that serves its toolboxes."""
    prompt: str
    parameters: str = ""
    """As `parameter_values` gives them."""
    hooks: tuple[Path, ...] = ()
    """As `OwnWorker.hooks`."""


async def ran(there: Reached, errand: Errand, manner: Manner) -> Exit:
    """Run it and print what came of it."""
    await check_model(there.settings, errand)
    async with (
        aio(there.settings) as store,
        tools_at_hand(store, there, errand.agent, errand.file, errand.hooks) as at_hand,
    ):
        sid = await _started(store, errand, at_hand)
        with interrupts() as pressed:
            ending = await conduct(store, there, Watched(sid, errand.prompt, Point()), manner, pressed)
            code = await told(store, sid, ending, as_json=manner.as_json, agent_file=errand.file)
            if at_hand.worker and ending.status == "interrupted":
                await drained(store, at_hand.worker, pressed)
        return code


async def _started(store: reads.Store, errand: Errand, at_hand: AtHand) -> str:
    """Start the session. One whose worker goes with us waits for its background calls, whatever its agent says."""
    slug, made = errand.agent.slug, errand.made
    if not (at_hand.worker and errand.agent.on_run_end == "detach"):
        made_of = definitions(made, at_hand.tools, errand.parameters)
        return await sessions.start(store, slug, made_of, errand.prompt)
    say("note: onRunEnd is read as wait instead of detach: the worker of this run goes with it")
    made_of = definitions(waiting(made), at_hand.tools, errand.parameters)
    sid = await sessions.start(store, slug, made_of, errand.prompt)
    await publish(store, slug, made)
    return sid


def waiting(made: StoredAgent) -> StoredAgent:
    """The same agent, but its run waits for background calls."""
    written = {**orjson.loads(made.file), "onRunEnd": "wait"}
    agent = parse_agent(orjson.dumps(written).decode(), origin="the agent of this run", api_key_ids=None)
    return made.model_copy(update={"file": agent.canonical})


async def check_model(settings: Settings, errand: Errand) -> None:
    """Raises ConfigError if the agent's model cannot even be asked: no name, no key, a script that cannot be read."""
    try:
        model, _ = choosing(settings)(errand.agent, errand.made.script)
    except ModelError as unusable:
        raise ConfigError(str(unusable)) from None
    await model.close()
