"""A worker of our own, for an agent whose tools nobody offers."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from errands_config import keys
from errands_config.agent import Agent
from errands_config.errors import ConfigError
from errands_config.policy import compile_policy
from errands_config.store import store_url
from errands_config.text import clean
from errands_orchestrator import reads
from errands_orchestrator.catalogue import LiveOffer, live_offers
from errands_orchestrator.cli.connecting import Reached
from errands_orchestrator.cli.output import say
from errands_orchestrator.cli.own_log import last_lines, new_log

READY_SECONDS = 60.0
"""Longest wait for a worker's offers; it describes every tool first, 5 s each at most."""
END_SECONDS = 10.0
"""Longest wait for the end of a worker that runs nothing."""
LEAST_SLOTS = 4
_POLL_SECONDS = 0.05
_PR_SET_PDEATHSIG = 1
_NOT_FOR_WORKERS = ("OPENAI_", "ERRANDS_API_KEYS", "ERRANDS_SECRET_KEY", "ERRANDS_REDIS_URL")
"""How the variables begin that are keys, or that we set ourselves."""

# PyDLL keeps the interpreter's lock during the call, which makes it safe between fork and exec
_libc = ctypes.PyDLL(None) if sys.platform == "linux" else None


@dataclass(frozen=True, slots=True)
class OwnWorker:
    """What the worker is started for."""

    agent: Agent
    file: Path
    """The agent file, whose toolboxes it serves."""

    @property
    def command(self) -> list[str]:
        """The worker's command line."""
        slots = max(LEAST_SLOTS, self.agent.max_concurrency)
        queues = _queues_of_policy(self.agent)
        listening = ["--queues", ",".join(["default", *queues])] if queues else []
        return [sys.executable, "-m", "errands_workers", str(self.file.absolute()), "--slots", str(slots), *listening]


def _queues_of_policy(agent: Agent) -> list[str]:
    policy = compile_policy(agent)
    named = {it.queue for it in (policy.default, *policy.by_tool.values()) if it.queue}
    return sorted(named - {"default"})


@asynccontextmanager
async def own_worker(store: reads.Store, there: Reached, worker: OwnWorker) -> AsyncGenerator[None]:
    """Have a worker inside the block that offers the agent's tools.

    Raises ConfigError with the worker's last words if it does not come up. At the end it is told to go, which is waited
    for unless calls still run on it: those get some seconds to end, whether we are there or not.
    """
    log = new_log(there.settings.home, "worker")
    process = _spawn(worker.command, _environment(there), log)
    try:
        await _offering(store, worker.agent.slug, process, log)
        yield
        busy = await _running(store, process.pid)
    except BaseException:
        process.terminate()
        raise
    if busy:
        say(f"calls that still run: {busy}. Their worker gives them some seconds to end, then they are lost.")
        if _libc:
            return  # our end tells it to go; a second request would end the calls at once
    process.terminate()
    if not busy:
        await _ended(process)


def _spawn(command: list[str], environment: Mapping[str, str], log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as file:
        return subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C is for us: it cancels the turn, and the worker hears of that
            preexec_fn=_drain_when_parent_dies if _libc else None,  # one system call, no lock
        )


def _drain_when_parent_dies() -> None:
    """Should we be killed, the worker finishes what it runs and goes."""
    if _libc:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _environment(there: Reached) -> dict[str, str]:
    """Ours, without the model's keys, with our store, and with the programs beside our interpreter found first.

    An embedded store is not named but found in our home: so the worker is a user of it, and it stays while we go.
    """
    ours = {name: value for name, value in os.environ.items() if not name.startswith(_NOT_FOR_WORKERS)}
    store = {} if there.embedded else {"ERRANDS_REDIS_URL": store_url(there.settings)}
    programs = os.pathsep.join([str(Path(sys.executable).parent), ours.get("PATH", os.defpath)])
    return {**ours, **store, "ERRANDS_HOME": str(there.settings.home), "PATH": programs}


async def _offering(store: reads.Store, slug: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait for the agent's tools to be offered."""
    give_up = time.monotonic() + READY_SECONDS
    while not workers_for(slug, offers := await live_offers(store)):
        ours = await _incarnations(store, process.pid)
        if process.poll() is not None:
            raise _failed(slug, f"ended with {process.returncode}", log)
        if any(live.worker in ours for live in offers):
            raise _failed(slug, "found no tool in its toolboxes", log)
        if time.monotonic() > give_up:
            raise _failed(slug, f"offered nothing for {READY_SECONDS:.0f} s", log)
        await asyncio.sleep(_POLL_SECONDS)


def _failed(slug: str, how: str, log: Path) -> ConfigError:
    return ConfigError(f"the worker for agent {slug} {how}: {clean(last_lines(log)).text} (see {log})")


def workers_for(slug: str, offers: Iterable[LiveOffer]) -> set[str]:
    """The live workers that were started with this agent's file."""
    return {live.worker for live in offers if slug in live.offer.agents}


async def _incarnations(store: reads.Store, launcher: int) -> list[str]:
    """The live incarnations of a worker of ours, by its process id on this machine."""
    workers = await reads.ranked(store, keys.WORKERS)
    launchers = await reads.field_of_each(store, [keys.worker(worker) for worker in workers], "launcher")
    return [worker for worker, pid in zip(workers, launchers, strict=True) if pid == str(launcher)]


async def _running(store: reads.Store, launcher: int) -> int:
    """The number of calls that it runs."""
    incarnations = await _incarnations(store, launcher)
    return sum([len(await reads.field_names(store, keys.worker_calls(worker))) for worker in incarnations])


async def _ended(process: subprocess.Popen[bytes]) -> None:
    with suppress(subprocess.TimeoutExpired):
        await asyncio.to_thread(process.wait, END_SECONDS)
