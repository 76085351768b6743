"""A whole deployment as processes: a durable store, a model endpoint, orchestrators and workers behind relays."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import signal
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import redis
from tests.faults.kit.agents import LIMITS
from tests.faults.kit.code_copy import ROOT, copy_code, with_stepped_clock
from tests.faults.kit.conversation import Endpoint, Scenario, first_message
from tests.faults.kit.effects import EFFECTS_VARIABLE, Effects, write_hooks, write_scripts
from tests.faults.kit.member import Member, Orchestrator, Worker
from tests.faults.kit.processes import RUN_VARIABLE, WORKER_VARIABLE, marked, send
from tests.faults.kit.relay import Relays
from tests.waiting import eventually

from errands_config import keys
from errands_config.embedded import EmbeddedStore
from errands_config.scripts.sessions import Definitions, create
from errands_config.settings import LimitSetting, Settings
from errands_config.store import plain
from errands_orchestrator.client import Client
from errands_orchestrator.sessions import new_id

QUEUES = ("default,bash", "default,python", "bash,python")
READY_SECONDS = 60.0
_PASSED_ON = ("PATH", "HOME", "LANG", "TMPDIR", "SYSTEMROOT")


@dataclass(frozen=True)
class Deployment:
    """What a run works on."""

    folder: Path
    mark: str
    variables: Mapping[str, str]
    """The environment of its processes."""
    database: EmbeddedStore
    store: redis.Redis
    """The store itself, past every relay."""
    scenario: Scenario
    endpoint: Endpoint
    effects: Effects
    orchestrators: tuple[Orchestrator, ...]
    workers: tuple[Worker, ...]

    @property
    def members(self) -> tuple[Member, ...]:
        """Every process that can be harmed, but the store."""
        return (*self.orchestrators, *self.workers)

    def start(self) -> None:
        """Start all and wait until the tools are offered."""
        for member in self.members:
            member.start()
        for worker in self.workers:
            eventually(lambda w=worker: w.is_ready(self.store), within=READY_SECONDS, saying=f"{worker.name} is ready")

    def incarnations(self) -> set[str]:
        """Every life of a worker that this store has seen."""
        beating: Any = self.store.zrange(keys.WORKERS, 0, -1)
        settled: Any = self.store.zrange(keys.SETTLED, 0, -1)
        return {*beating, *settled}

    def strays(self) -> list[int]:
        """Living processes of this run, by their marks: its commands, and whatever was begun for its calls."""
        return [*marked(RUN_VARIABLE, {self.mark}), *self.begun_for_calls()]

    def begun_for_calls(self) -> list[int]:
        """Living processes that were begun for calls."""
        return marked(WORKER_VARIABLE, self.incarnations())

    def end(self) -> None:
        """Leave nothing behind, however the run went."""
        for member in self.members:
            member.thaw()
            with contextlib.suppress(AssertionError):
                member.kill()
        with contextlib.suppress(redis.RedisError):
            send(self.strays(), signal.SIGKILL)


@contextlib.contextmanager
def a_deployment(
    folder: Path, scenario: Scenario, *, orchestrators: int = 2, queues: Sequence[str] = QUEUES, slots: int = 3
) -> Generator[Deployment]:
    """A deployment with a worker for each text of queues; nothing of it runs until it is started, nor afterwards."""
    code = copy_code(folder / "code")
    effects = folder / "effects"
    scripts, hooks = write_scripts(folder / "tools", effects), write_hooks(folder / "hooks")
    mark, endpoint, relays = secrets.token_hex(8), Endpoint(scenario), Relays()
    with EmbeddedStore(folder / "home", "durable") as database, endpoint.strict:
        variables = _environment(code, effects, mark) | endpoint.strict.environment
        offered = ("--tools", str(scripts), "--module", "tests.faults.kit.tools", "--hooks", str(hooks))
        served = ("worker", *offered, "--slots", str(slots))
        with plain(Settings(redis_url=database.url, home=folder / "home")) as store:

            def relay() -> Any:
                return relays.relay(database.server.socket)

            steps = [_orchestrator(f"o{n}", relay(), folder, variables) for n in range(1, orchestrators + 1)]
            works = [
                Worker(f"w{n}", (*served, "--queues", names), relay(), folder, variables)
                for n, names in enumerate(queues, 1)
            ]
            deployment = Deployment(
                folder, mark, variables, database, store, scenario, endpoint, Effects(effects), tuple(steps),
                tuple(works),
            )  # fmt: skip
            try:
                yield deployment
            finally:
                deployment.end()
                relays.close()


def _orchestrator(name: str, relay: Any, folder: Path, variables: Mapping[str, str]) -> Orchestrator:
    """The model's name is the process's, so that the endpoint knows who asks."""
    return Orchestrator(name, ("orchestrator",), relay, folder, {**variables, "ERRANDS_MODEL": name})


def _environment(code: Path, effects: Path, mark: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return {
        **kept,
        "PYTHONPATH": os.pathsep.join((str(code), str(ROOT))),
        "ERRANDS_LIMITS": LIMITS,
        EFFECTS_VARIABLE: str(effects),
        RUN_VARIABLE: mark,
    }


class Starter:
    """Starts the sessions of a run, with agents that were published once."""

    def __init__(self, deployment: Deployment) -> None:
        self._store = deployment.store
        limits = {name: LimitSetting.model_validate(bounds) for name, bounds in json.loads(LIMITS).items()}
        self._settings = Settings(redis_url=deployment.database.url, home=deployment.folder / "home", limits=limits)
        self._folder = deployment.folder
        self._agents = deployment.scenario.agents
        self._definitions: list[tuple[str, Definitions]] = []
        self.sessions: dict[int, str] = {}
        """Number -> session."""
        for slug, agent in self._agents.items():
            (self._folder / f"{slug}.json").write_text(json.dumps(agent))

    def publish(self) -> None:
        """Start the first sessions, one of each agent, as an application does; the others are made of the same."""
        for number, slug in enumerate(self._agents, 1):
            sid = asyncio.run(_started(self._settings, self._folder / f"{slug}.json", number))
            self.sessions[number] = sid
            self._definitions.append(self._made_of(sid))

    def start(self, number: int) -> None:
        """Start one session more."""
        slug, made_of = self._definitions[number % len(self._definitions)]
        sid = new_id()
        made = create(sid, slug, made_of, text=first_message(number))
        count, packed = made.packed()
        self._store.eval(with_stepped_clock(made.script.text), count, *packed)
        self.sessions[number] = sid

    def _made_of(self, sid: str) -> tuple[str, Definitions]:
        names = ("slug", "agent", "tools", "mail_scope", "interrupt_scope")
        head: Any = self._store.hmget(keys.session(sid), names)
        slug, agent, tools, mail_scope, interrupt_scope = head
        texts: Any = self._store.mget(keys.agent(agent), keys.toolset(tools))
        return slug, Definitions(agent, texts[0], tools, texts[1], mail_scope, interrupt_scope)


async def _started(settings: Settings, file: Path, number: int) -> str:
    async with Client(settings) as client:
        return await client.start(file, first_message(number))
