"""The whole system as processes: each of them is killed while a call runs, and the model hears what is true, once."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
import redis
from tests.acceptance.desk import Worker, a_store, a_worker, below
from tests.acceptance.person import Person, Typed, agent_file
from tests.stub import Call, Say, StubServer
from tests.waiting import eventually

from errands_config import keys
from errands_config.embedded import EmbeddedStore
from errands_config.settings import Settings
from errands_config.store import plain

GATE = """#!/bin/sh
[ "$1" = describe ] && echo '{"slug": "gate", "args": [{"name": "file", "mode": "positional"}]}' && exit
echo waiting
while [ ! -e "$2" ]; do sleep 0.05; done
echo "$2 is open"
"""


@pytest.fixture
def stub() -> Iterator[StubServer]:
    with StubServer() as server:
        yield server
        assert not server.refusals


@pytest.fixture
def gate_tools(tmp_path: Path) -> Path:
    folder = tmp_path / "tools"
    folder.mkdir()
    (folder / "gate").write_text(GATE)
    (folder / "gate").chmod(0o755)
    return folder


@contextlib.contextmanager
def an_orchestrator(person: Person) -> Generator[Typed]:
    orchestrator = person.begins("orchestrator")
    try:
        yield orchestrator
    finally:
        orchestrator.process.kill()
        orchestrator.process.wait()


def a_user(tmp_path: Path, settings: Settings, stub: StubServer, **more: object) -> Person:
    at_once = {"default": {"tag": "runAsync", "attachSeconds": 0}}
    agent_file(tmp_path / "agent.json", **{"tools": ["bash_gate"], "toolCallPolicyConfig": at_once, **more})
    return Person.at(tmp_path).with_store(settings).with_model(stub)


def gates(*files: Path) -> tuple[Call, ...]:
    return tuple(Call("bash_gate", json.dumps({"file": str(file)}), f"call_{file.name}") for file in files)


def everything_said_to_the_model(stub: StubServer) -> str:
    return json.dumps(stub.journal[-1].messages)


def wait_for_running_calls(settings: Settings, number: int) -> None:
    with plain(settings) as store:
        eventually(lambda: running_calls(store) == number, saying=f"{number} calls run")


def running_calls(store: redis.Redis) -> int:
    records = [name for name in store.scan_iter(keys.call("*")) if ":progress" not in name]
    return sum(store.hget(name, "state") == "running" for name in records)


def status_of_the_session(user: Person) -> str:
    [session] = json.loads(user.types("session", "list", "--json").out)
    return session["status"]


def kill_tree(worker: Worker) -> None:
    """As when a machine loses its power: every process at once."""
    for pid in [worker.launcher.pid, *below(worker.launcher.pid)]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    worker.launcher.wait()


def test_the_model_is_told_within_eight_seconds_that_the_worker_of_its_call_is_gone(
    tmp_path: Path, gate_tools: Path, stub: StubServer
) -> None:
    stub.program([Say("I start.", gates(tmp_path / "never")), Say("I wait."), Say("It is lost.")])
    with (
        a_store(tmp_path / "home") as settings,
        a_worker(settings, tmp_path / "worker.log", "--tools", str(gate_tools), default_tools=False) as worker,
    ):
        user = a_user(tmp_path, settings, stub)
        run = user.begins("run", "agent.json", "go")
        wait_for_running_calls(settings, 1)
        eventually(lambda: status_of_the_session(user) == "waiting_calls", saying="turn 2 is committed")

        killed = time.monotonic()
        kill_tree(worker)
        done = run.done()

        assert time.monotonic() - killed < 8
        assert (done.code, done.out) == (0, "It is lost.\n")
        assert "tool_call_id call_never (bash_gate) failed:\\ntool call orphaned" in everything_said_to_the_model(stub)


def test_another_orchestrator_delivers_every_result_once_when_one_is_killed(
    tmp_path: Path, gate_tools: Path, stub: StubServer
) -> None:
    files = [tmp_path / name for name in ("one", "two", "three")]
    stub.program([Say("I start.", gates(*files)), Say("I wait."), Say("All in.")])
    with (
        a_store(tmp_path / "home") as settings,
        a_worker(settings, tmp_path / "w.log", "--tools", str(gate_tools), "--slots", "4", default_tools=False),
    ):
        user = a_user(tmp_path, settings, stub, asyncYieldStrategy="yieldWhenAllDone")
        run = user.begins("run", "agent.json", "go")
        wait_for_running_calls(settings, 3)
        eventually(lambda: status_of_the_session(user) == "waiting_calls", saying="turn 2 is committed")

        run.process.kill()
        run.process.wait()
        for file in files:
            file.touch()
        with an_orchestrator(user):
            eventually(lambda: status_of_the_session(user) == "idle", within=25, saying="the run ends")

        said = everything_said_to_the_model(stub)
        assert [said.count(f"{file} is open") for file in files] == [1, 1, 1]


def test_a_session_whose_run_was_killed_is_resumed_and_hears_its_result_once(
    tmp_path: Path, gate_tools: Path, stub: StubServer
) -> None:
    stub.program([Say("I start.", gates(tmp_path / "file")), Say("I wait."), Say("It is in.")])
    with (
        a_store(tmp_path / "home") as settings,
        a_worker(settings, tmp_path / "worker.log", "--tools", str(gate_tools), default_tools=False),
    ):
        user = a_user(tmp_path, settings, stub)
        run = user.begins("run", "agent.json", "go")
        wait_for_running_calls(settings, 1)
        eventually(lambda: status_of_the_session(user) == "waiting_calls", saying="turn 2 is committed")

        run.process.kill()
        run.process.wait()
        (tmp_path / "file").touch()
        [session] = json.loads(user.types("session", "list", "--json").out)
        resumed = user.types("session", "resume", session["session_id"])

        assert (resumed.code, resumed.out) == (0, "It is in.\n")
        assert everything_said_to_the_model(stub).count(f"{tmp_path / 'file'} is open") == 1


def test_a_restart_of_the_store_ends_no_call_and_loses_no_result(
    tmp_path: Path, gate_tools: Path, stub: StubServer
) -> None:
    stub.program([Say("I start.", gates(tmp_path / "file")), Say("I wait."), Say("It is in.")])
    with EmbeddedStore(tmp_path / "home", "durable") as store:
        settings = Settings(redis_url=store.url, home=tmp_path / "home")
        with a_worker(settings, tmp_path / "worker.log", "--tools", str(gate_tools), default_tools=False) as worker:
            user = a_user(tmp_path, settings, stub)
            run = user.begins("run", "agent.json", "go")
            wait_for_running_calls(settings, 1)
            eventually(lambda: status_of_the_session(user) == "waiting_calls", saying="turn 2 is committed")
            running = below(worker.launcher.pid)

            store.server.kill()
            store.revive()
            (tmp_path / "file").touch()
            done = run.done(within=40)

            assert (done.code, done.out) == (0, "It is in.\n")
            assert everything_said_to_the_model(stub).count(f"{tmp_path / 'file'} is open") == 1
            assert running, "the call ran while the store went"
