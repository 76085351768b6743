"""A whole deployment for one agent under test: a store, a real worker, and a client that steps its sessions."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue, SecretStr

from errands_config import keys
from errands_config.agent import Agent, load_agent
from errands_config.errors import ConfigError
from errands_config.settings import Settings, load_settings
from errands_orchestrator import reads
from errands_orchestrator.cli.cancelling import all_cancelled
from errands_orchestrator.client import Client
from errands_orchestrator.client_place import Place, place
from errands_orchestrator.client_runs import Run
from errands_orchestrator.definitions import MakeModel
from errands_orchestrator.models.choosing import choosing
from errands_orchestrator.models.model import Model, ModelRequest, Reply
from errands_orchestrator.models.real_requests import no_real_requests


@dataclass(frozen=True, slots=True)
class Errands:
    """An agent under test and its deployment.

    `client` does what else a test wants: send, watch, cancel, and end the calls that wait for somebody outside.
    """

    file: Path
    client: Client

    async def run(self, text: str, *, parameters: Mapping[str, JsonValue] | None = None) -> str:
        """Run the agent on a new session; answers what the model said last. Raises what `Client.run` does."""
        return await self.client.run(self.file, text, parameters=parameters)

    async def run_until_blocked(self, text: str, *, parameters: Mapping[str, JsonValue] | None = None) -> Run:
        """`run`, but how the run stands is answered, also where it is paused, or waits for somebody outside."""
        return await self.client.run_until_blocked(self.file, text, parameters=parameters)


@asynccontextmanager
async def errands(agent_file: Path | str, model: Model | None = None) -> AsyncGenerator[Errands]:
    """Have an agent's deployment inside the block, in a temporary folder, and nothing of it afterwards.

    The store is an embedded one, whatever ERRANDS_REDIS_URL says; a real worker serves the toolboxes of the agent file
    from the first run on. `model` speaks for the agent (None: a `Scripted` agent's own script); real model requests are
    forbidden inside the block. Calls that still run at its end are cancelled. Raises ConfigError for a file that cannot
    be used.
    """
    file = Path(agent_file)
    agent = load_agent(file, api_key_ids=None)
    if model is None and agent.flavor != "Scripted":
        raise ConfigError(f"{file}: this agent asks a real model: give a model for the test")
    with no_real_requests(), tempfile.TemporaryDirectory(prefix="errands-", ignore_cleanup_errors=True) as folder:
        settings = _settings(agent, Path(folder) / "home")
        async with (
            place(settings) as here,
            _making(model, settings) as make_model,
            Client(settings, make_model=make_model) as client,
        ):
            try:
                yield Errands(file, client)
            finally:
                await _end_calls(here)


def _settings(agent: Agent, home: Path) -> Settings:
    """Settings that lead to nothing but the store of the test; a key that the agent names is there, and no real one."""
    settings = load_settings()
    if settings.broker_url is not None:
        raise ConfigError("a test has a store of its own for a broker: unset this", path="ERRANDS_BROKER_URL")
    api_keys = {agent.api_key_id: SecretStr("none")} if agent.api_key_id else {}
    return settings.model_copy(update={"redis_url": None, "home": home, "durability": "fast", "api_keys": api_keys})


@asynccontextmanager
async def _making(model: Model | None, settings: Settings) -> AsyncGenerator[MakeModel]:
    """What makes the model of each run: always the given one, which is closed at the end of the test."""
    if model is None:
        yield choosing(settings)
        return
    kept = _Kept(model)
    try:
        yield lambda agent, script: (kept, agent.model_name or "test")
    finally:
        await model.close()


class _Kept:
    """A model that outlives the runs, each of which closes its own."""

    def __init__(self, model: Model) -> None:
        self._model = model

    async def reply(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> Reply:
        return await self._model.reply(request, on_text)

    async def close(self) -> None: ...


async def _end_calls(here: Place) -> None:
    """A worker that runs nothing goes at once."""
    going = sorted(await reads.ranked(here.store, keys.WATCH))
    await all_cancelled(here.store, here.there, going, "the test is over")
