"""A real worker on a store of its own, and a desk from which its tests hand it calls, without an orchestrator."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
import redis
import uuid6
from tests.waiting import eventually

from errands_config import keys
from errands_config.embedded import EmbeddedStore
from errands_config.scripts.calls import CancelAnswer, Place, cancel
from errands_config.scripts.commits import Commit, Publication, Record, commit
from errands_config.scripts.letters import read_outcome
from errands_config.scripts.script import run
from errands_config.scripts.sessions import Acquired, Definitions, acquire, create
from errands_config.settings import Settings
from errands_config.store import plain
from errands_config.wire import Around, Bound, CallPolicy, CallState, Outcome, TaskMessage
from errands_orchestrator.dispatcher import Publication as CeleryMessage
from errands_orchestrator.dispatcher import message
from errands_workers.processes import children, descendants, is_dead

ROOT = Path(__file__).parents[2]
LEASE_MS = 600_000
in_both_pools = pytest.mark.parametrize("pool", ["prefork", "threads"])
"""For tests with the shared worker: they hold whichever pool it has."""


class Desk:
    """Hands calls to workers and reads what became of them."""

    def __init__(self, store: redis.Redis) -> None:
        self.store = store
        self.sid = str(uuid6.uuid7())
        self._version = 0
        run(store, create(self.sid, "desk", Definitions("a", "{}", "t", "{}")))
        taken = run(store, acquire(self.sid, "desk", "desk", LEASE_MS, named=True))
        assert isinstance(taken, Acquired)

    def call(
        self,
        tool: str,
        given: Mapping[str, object] = MappingProxyType({}),
        *,
        seconds: float = 60,
        queue: str = "default",
        reruns: int = 0,
        around: tuple[Around, ...] = (),
        may_defer: bool = True,
        keeps_output: bool = False,
        bound: tuple[Bound, ...] = (),
        **arguments: object,
    ) -> str:
        """Record a call of a tool, which may run so many seconds, and publish its message; answers its id."""
        cid = str(uuid6.uuid7())
        policy = CallPolicy(
            timeout_seconds=seconds, queue_timeout_seconds=60, rerun_times=reruns, around=around, may_defer=may_defer,
            bound=bound, keeps_output=keeps_output,
        )  # fmt: skip
        fields = {
            "state": "waiting", "agent": "desk", "tool": tool, "arguments": json.dumps({**given, **arguments}),
            "provider_id": "p", "policy": policy.model_dump_json(), "queue": queue,
        }  # fmt: skip
        text = self.message(cid, tool, queue)
        step = Commit(
            id=cid, version=self._version, cursor="0-0", snapshot="{}", records=(Record(cid, fields),),
            publish=(Publication(cid, queue, 60_000, text),),
        )  # fmt: skip
        assert run(self.store, commit(self.sid, "desk", step, LEASE_MS)).outcome == "ok"
        self._version += 1
        return cid

    def message(self, cid: str, tool: str, queue: str = "default", *, attempt: int = 1, suffix: str = "") -> str:
        """The Celery message of an attempt."""
        now = int(time.time() * 1000)
        body = TaskMessage(call=cid, session=self.sid, queue=queue, attempt=attempt, published=now)
        return message(CeleryMessage(f"{cid}{suffix}", f"tool.{tool}", body, 3600))

    def publish(self, text: str, queue: str = "default") -> None:
        """Put a message on a queue."""
        self.store.lpush(queue, text)

    def field(self, cid: str, name: str) -> str:
        """One field of a call's record, empty if it is not there."""
        value: Any = self.store.hget(keys.call(cid), name)
        return value or ""

    def state(self, cid: str) -> CallState:
        """Where a call is."""
        return CallState(self.field(cid, "state"))

    def running(self, cid: str) -> int:
        """Wait until a call runs; answers the process that runs it."""
        eventually(lambda: self.state(cid) == CallState.RUNNING, saying=f"call {cid} runs")
        return int(self.field(cid, "pid"))

    def end(self, cid: str, within: float = 20) -> Outcome:
        """Wait until a call has ended; answers how."""
        eventually(lambda: self.state(cid).is_final, within=within, saying=f"call {cid} ends")
        record: Any = self.store.hgetall(keys.call(cid))
        return read_outcome(record)

    def result(self, tool: str, **arguments: object) -> Any:
        """Run a call to its end; answers its result."""
        outcome = self.end(self.call(tool, arguments))
        assert outcome.state == CallState.COMPLETED, outcome
        return json.loads(outcome.result) if outcome.result_type == "json" else outcome.result

    def cancel(self, cid: str, reason: str = "not needed") -> CancelAnswer:
        """Ask for the end of a call, as a user."""
        while True:
            record: Any = self.store.hmget(keys.call(cid), *Place.FIELDS)
            place = Place.of(cid, record)
            assert place
            answer = run(self.store, cancel(place, by="user", reason=reason))
            if answer.outcome != "moved":
                return answer

    def nudge(self, answer: CancelAnswer) -> None:
        """Tell the pool process at once, as a revoke would."""
        if answer.outcome == "asked":
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(answer.pid), signal.SIGUSR1)

    def clear(self) -> None:
        """End every call of the session that goes on."""
        calls: Any = self.store.zrange(keys.calls(self.sid), 0, -1)
        for cid in calls:
            if not self.state(cid).is_final:
                self.nudge(self.cancel(cid))
                self.end(cid)

    def progress(self, cid: str) -> list[Any]:
        """What was reported of a call."""
        entries: Any = self.store.xrange(keys.progress(cid))
        return [json.loads(fields["payload"]) for _, fields in entries]

    def mails(self, cid: str, kind: str) -> list[dict[str, str]]:
        """What the session was told about a call."""
        entries: Any = self.store.xrange(keys.mail(self.sid))
        return [fields for _, fields in entries if fields.get("call") == cid and fields["kind"] == kind]

    def ends(self, cid: str) -> list[str]:
        """The ends of a call in the session's events."""
        entries: Any = self.store.xrange(keys.events(self.sid))
        return [
            fields["kind"].removeprefix("tool_call.")
            for _, fields in entries
            if fields.get("tool_call_id") == cid and CallState(_state_of(fields["kind"])).is_final
        ]


def _state_of(kind: str) -> str:
    name = kind.removeprefix("tool_call.")
    return name if name in {str(state) for state in CallState} else "running"


@dataclass(frozen=True)
class Worker:
    """A worker's processes, from outside."""

    launcher: subprocess.Popen[bytes]
    log: Path
    store: redis.Redis
    settings: Settings
    pool_name: str = "prefork"

    @property
    def celery(self) -> int:
        """Process id of the Celery process."""
        return eventually(lambda: [pid for pid in children(self.launcher.pid) if not is_dead(pid)])[0]

    def pool(self) -> list[int]:
        """Process ids of the processes that run calls; a dead one is replaced in a moment."""
        if self.pool_name == "threads":
            return [self.celery]
        return eventually(lambda: [pid for pid in children(self.celery) if not is_dead(pid)])

    def tool_processes(self) -> list[int]:
        """Every living process that was begun for a call, wherever it is now."""
        return marked_processes(*self.incarnations(), *settled(self.store))

    def incarnations(self) -> list[str]:
        """Those that beat, without the settled ones."""
        names: Any = self.store.zrange(keys.WORKERS, 0, -1)
        return names

    def ready(self) -> str:
        """Wait until it offers its tools; answers its incarnation."""

        def offering() -> str:
            return next((name for name in self.incarnations() if self.store.exists(keys.catalogue(name))), "")

        return eventually(offering, within=20, saying="the worker offers its tools")

    def ready_or_told(self) -> None:
        """Wait until it offers its tools; if it never does, have it say where it is."""
        try:
            self.ready()
        except AssertionError as late:
            self.launcher.send_signal(signal.SIGABRT)
            self.launcher.wait(5)
            raise AssertionError(f"the worker is not ready; its log:\n{self.log.read_text()[-4000:]}") from late

    def stop(self, number: signal.Signals = signal.SIGTERM, within: float = 20) -> int:
        """Tell the launcher to stop and wait for its end; answers its exit code."""
        if self.launcher.poll() is None:
            self.launcher.send_signal(number)
        return self.launcher.wait(within)


@contextlib.contextmanager
def a_store(home: Path) -> Generator[Settings]:
    """A store for one worker and its tests."""
    with EmbeddedStore(home) as store:
        yield Settings(redis_url=store.url, home=home)


@contextlib.contextmanager
def a_threads_worker(settings: Settings, log: Path, *words: str, **variables: str) -> Generator[Worker]:
    """A worker of the threads pool with the cooperative tools of `tests/tools`; otherwise as `a_worker`."""
    tools = ["--tools", "tests/tools/bash", "--module", "tests.tools.cooperative"]
    more = [*tools, *(words or ("--slots", "4")), "--pool", "threads"]
    with a_worker(settings, log, *more, default_tools=False, pool_name="threads", **variables) as worker:
        yield worker


@contextlib.contextmanager
def a_worker(
    settings: Settings,
    log: Path,
    *words: str,
    default_tools: bool = True,
    pool_name: str = "prefork",
    **variables: str,
) -> Generator[Worker]:
    """A worker, by default with the tools of `tests/tools`, ready to serve; nothing of it is left afterwards."""
    tools = ["--tools", "tests/tools/bash", "--module", "tests.tools.functions"] if default_tools else []
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ERRANDS_")}
    with log.open("ab") as file, plain(settings) as store:
        launcher = subprocess.Popen(
            [sys.executable, "-m", "errands_workers", *tools, *(words or ("--slots", "1"))],
            env={**environment, "PYTHONFAULTHANDLER": "1", "ERRANDS_REDIS_URL": settings.redis_url or "", **variables},
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stderr=file,
        )
        worker = Worker(launcher, log, store, settings, pool_name)
        try:
            worker.ready_or_told()
            yield worker
        finally:
            launcher.kill()
            launcher.wait()
            for pid in worker.tool_processes():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def settled(store: redis.Redis) -> list[str]:
    """The incarnations that were given up."""
    names: Any = store.zrange(keys.SETTLED, 0, -1)
    return names


def marked_processes(*incarnations: str) -> list[int]:
    """Living processes that were begun for calls of these incarnations, wherever they are now."""
    wanted = {f"ERRANDS_WORKER={name}".encode() for name in incarnations}
    return [pid for pid, environment in _environments() if wanted & set(environment.split(b"\0")) and not is_dead(pid)]


def processes_of_call(cid: str) -> list[int]:
    """Living processes that bear the mark of a call."""
    mark = f"ERRANDS_TOOL_CALL_ID={cid}".encode()
    return [pid for pid, environment in _environments() if mark in environment.split(b"\0") and not is_dead(pid)]


def _environments() -> Iterator[tuple[int, bytes]]:
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            yield int(folder.name), (folder / "environ").read_bytes()


def below(pid: int) -> list[int]:
    """What lives below a process."""
    return [one for one in descendants(pid) if not is_dead(one)]
