"""A worker of our own, for an agent whose tools nobody offers."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from errands_config import keys
from errands_config.agent import Agent
from errands_config.errors import ConfigError
from errands_config.text import clean
from errands_orchestrator import reads
from errands_orchestrator.catalogue import LiveOffer, live_offers
from errands_orchestrator.cli.connecting import Reached
from errands_orchestrator.cli.output import say
from errands_orchestrator.cli.own_log import last_lines, new_log
from errands_orchestrator.cli.own_process import GOES_WITH_US, Process, environment_for_tools, start_process

READY_SECONDS = 60.0
"""Longest wait for a worker's offers; it describes every tool first, 5 s each at most."""
END_SECONDS = 10.0
"""Longest wait for the end of a worker that runs nothing."""
LEAST_SLOTS = 4
_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class OwnWorker:
    """What the worker is started for."""

    agent: Agent
    file: Path
    """The agent file, whose toolboxes it serves."""
    hooks: tuple[Path, ...] = ()
    """Folders of hooks; empty: the folder `hooks` beside the agent file, if there is one."""

    @property
    def hook_folders(self) -> tuple[Path, ...]:
        """Where its hooks are."""
        beside = self.file.absolute().parent / "hooks"
        return self.hooks or ((beside,) if beside.is_dir() else ())

    @property
    def command(self) -> list[str]:
        """The worker's command line."""
        return worker_command([self])


def worker_command(workers: Sequence[OwnWorker], slots: int | None = None) -> list[str]:
    """The command line of one worker for all of these. `slots`: its calls at a time, if somebody said so."""
    files = [str(one.file.absolute()) for one in workers]
    enough = slots or max(LEAST_SLOTS, *(one.agent.max_concurrency for one in workers))
    folders = dict.fromkeys(folder.absolute() for one in workers for folder in one.hook_folders)
    hooks = [word for folder in folders for word in ("--hooks", str(folder))]
    return [sys.executable, "-m", "errands_workers", *files, "--slots", str(enough), *hooks]


@asynccontextmanager
async def own_worker(store: reads.Store, there: Reached, worker: OwnWorker) -> AsyncGenerator[Process]:
    """Have a worker inside the block that offers the agent's tools.

    Raises ConfigError with the worker's last words if it does not come up. At the end it is told to go, which is waited
    for unless calls still run on it: those get some seconds to end, whether we are there or not.
    """
    log = new_log(there.settings.home, "worker")
    process = start_process(worker.command, environment_for_tools(there), log)
    try:
        await _offering(store, worker.agent.slug, process, log)
        yield process
        busy = len(await calls_on(store, process))
    except BaseException:
        process.terminate()
        raise
    if busy:
        say(f"calls that still run: {busy}. Their worker gives them some seconds to end, then they are lost.")
        if GOES_WITH_US:
            return  # our end tells it to go; a second request would end the calls at once
    process.terminate()
    if not busy:
        await _ended(process)


async def _offering(store: reads.Store, slug: str, process: Process, log: Path) -> None:
    """Wait for the agent's tools to be offered."""
    give_up = time.monotonic() + READY_SECONDS
    while not workers_for(slug, offers := await live_offers(store)):
        ours = await incarnations_of(store, process)
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


async def incarnations_of(store: reads.Store, process: Process) -> list[str]:
    """The live incarnations of a worker of ours, by its process id on this machine."""
    workers = await reads.ranked(store, keys.WORKERS)
    launchers = await reads.field_of_each(store, [keys.worker(worker) for worker in workers], "launcher")
    return [worker for worker, pid in zip(workers, launchers, strict=True) if pid == str(process.pid)]


async def calls_on(store: reads.Store, process: Process) -> list[str]:
    """The ids of the calls that a worker of ours runs."""
    incarnations = await incarnations_of(store, process)
    return [cid for worker in incarnations for cid in await reads.field_names(store, keys.worker_calls(worker))]


async def _ended(process: Process) -> None:
    with suppress(subprocess.TimeoutExpired):
        await asyncio.to_thread(process.wait, END_SECONDS)
