"""The processes of a deployment that can be harmed: orchestrators and workers, each behind a relay of its own."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import redis
from tests.faults.kit.kinds import Role
from tests.faults.kit.processes import CALL_VARIABLE, below, command_of, send
from tests.faults.kit.relay import Relay

from errands_config import keys
from errands_workers.processes import children, is_dead, variables_of

_COMMAND = (sys.executable, "-c", "from errands_orchestrator.cli import main; main()")


class Member:
    """One `errands` command that is started again whenever it ends, as a service manager does."""

    role: Role

    def __init__(self, name: str, words: tuple[str, ...], relay: Relay, folder: Path, variables: Mapping[str, str]):
        self.name = name
        self.relay = relay
        self.log = folder / f"{name}.log"
        self.frozen: list[int] = []
        self._words = words
        self._folder = folder
        self._environment = {**variables, "ERRANDS_REDIS_URL": relay.url}
        self._process: subprocess.Popen[bytes] | None = None
        self._killed = False
        self.ended_by_itself: list[int] = []
        """Exit codes of the ends that nobody here caused."""

    def start(self) -> None:
        """Start it, unless it lives."""
        if self._process and self._process.poll() is None:
            return
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*_COMMAND, *self._words], cwd=self._folder, env=self._environment, stdin=subprocess.DEVNULL,
                stdout=log, stderr=log,
            )  # fmt: skip
        self._killed = False

    @property
    def pid(self) -> int:
        """Of the process that the command is."""
        assert self._process, "it was started"
        return self._process.pid

    @property
    def is_up(self) -> bool:
        """Whether it can be harmed: it lives and is not frozen."""
        return bool(self._process) and self._process.poll() is None and not self.frozen

    def has_ended(self) -> bool:
        """Whether it lives no more. Its end is noted, once, if nobody here caused it."""
        if self._process is None or self._process.poll() is None:
            return False
        if not self._killed:
            self.ended_by_itself.append(self._process.returncode)
            self._killed = True
        return True

    def kill(self) -> None:
        """Kill the command's own process, and only that."""
        self._killed = True
        if self._process:
            self._process.kill()
            self._process.wait()

    def stop(self) -> None:
        """Ask it to end."""
        self._killed = True
        if self._process:
            send([self._process.pid], signal.SIGTERM)

    def wait(self, seconds: float) -> int | None:
        """Its exit code, if it ends within so many seconds."""
        try:
            return self._process.wait(seconds) if self._process else None
        except subprocess.TimeoutExpired:
            return None

    def everything(self) -> list[int]:
        """It and all that lives below it."""
        return [self.pid, *below(self.pid)]

    def freeze(self) -> None:
        """Stop it and all that lives below it."""
        self.frozen = self.everything()
        send(self.frozen, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let everything that was stopped go on, the deepest first."""
        send(reversed(self.frozen), signal.SIGCONT)
        self.frozen = []


class Orchestrator(Member):
    """`errands orchestrator`."""

    role: Role = "orchestrator"


class Worker(Member):
    """`errands worker`: a launcher, its Celery process, the pool below that, and what the tools begin."""

    role: Role = "worker"

    def celery(self) -> int | None:
        """Process id of the Celery process, if there is one just now."""
        living = [pid for pid in children(self.pid) if not is_dead(pid)]
        return next((pid for pid in living if "errands_workers.celery_process" in command_of(pid)), None)

    def pool(self) -> list[int]:
        """Process ids of the pool."""
        celery = self.celery()
        return [pid for pid in children(celery) if not is_dead(pid)] if celery else []

    def scripts(self) -> dict[int, str]:
        """The scripts that run for calls: process id -> call. Of each call the first process."""
        found: dict[str, int] = {}
        for pool in self.pool():
            for pid in below(pool):
                call = variables_of(pid).get(CALL_VARIABLE)
                if call and call not in found:
                    found[call] = pid
        return {pid: call for call, pid in found.items()}

    def incarnations(self, store: redis.Redis) -> set[str]:
        """Its lives that the store knows as living."""
        beating: Any = store.zrange(keys.WORKERS, 0, -1)
        mine = str(self.pid)
        return {name for name in beating if store.hget(keys.worker(name), "launcher") == mine}

    def is_ready(self, store: redis.Redis) -> bool:
        """Whether it offers its tools."""
        return any(store.exists(keys.catalogue(name)) for name in self.incarnations(store))
