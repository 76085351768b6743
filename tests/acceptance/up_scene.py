"""`errands up` as a person has it: what it tells, what runs for it, and what is left of it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.acceptance.desk import ROOT, marked_processes
from tests.acceptance.person import Person, Typed
from tests.waiting import eventually

from errands_workers.processes import is_dead

SECOND_FILE = """
from errands_workers import tool

@tool(queue="gpu")
def paint(colour: str) -> str:
    "Paint."
    return f"painted {colour}"
"""


GATE = """#!/bin/sh
[ "$1" = describe ] && echo '{"slug": "gate", "args": [{"name": "file", "mode": "positional"}]}' && exit
while [ ! -e "$2" ]; do sleep 0.05; done
echo "$2 is open"
"""


def agent_files(folder: Path) -> tuple[str, str]:
    """Two agents: one of scripts whose policy names the queue `slow`, one of a function that names `gpu` itself."""
    (folder / "up_tools.py").write_text(SECOND_FILE)
    (folder / "gate").write_text(GATE)
    (folder / "gate").chmod(0o755)
    slow = {"tool": "bash_fake", "disposition": {"tag": "runAsync", "queue": "slow"}}
    scripts = {
        "slug": "scripts",
        "executionMode": "asynchronous",
        "maxConcurrency": 2,
        "bashToolboxes": [
            {"tag": "SingleTool", "contents": {"Path": str(ROOT / "tests/tools/bash/fake")}},
            {"tag": "SingleTool", "contents": {"Path": "gate"}},
        ],
        "toolCallPolicyConfig": {"rules": [slow]},
    }
    painter = {
        "slug": "painter",
        "flavor": "Scripted",
        "modelUrl": "script.json",
        "functionToolboxes": [{"tag": "Module", "contents": {"Module": "up_tools"}}],
    }
    turns = [{"calls": [{"name": "paint", "arguments": {"colour": "red"}}]}, {"say": "It is red."}]
    (folder / "script.json").write_text(json.dumps(turns))
    (folder / "scripts.json").write_text(json.dumps(scripts))
    (folder / "painter.json").write_text(json.dumps(painter))
    return "scripts.json", "painter.json"


@dataclass(frozen=True)
class Running:
    """An `errands up --json` that is ready."""

    person: Person
    typed: Typed
    home: Path

    @property
    def news(self) -> list[dict[str, Any]]:
        """All that it has told."""
        return [json.loads(line) for line in self.typed.out.splitlines(keepends=True) if line.endswith("\n")]

    def told(self, event: str, **facts: object) -> list[dict[str, Any]]:
        """The news of one kind."""
        return [one for one in self.news if one["event"] == event and facts.items() <= one.items()]

    def tells(self, event: str, times: int = 1, within: float = 30, **facts: object) -> dict[str, Any]:
        """Wait until it has told something so often; the last of it."""
        eventually(
            lambda: len(self.told(event, **facts)) >= times, within=within, saying=f"{event} {facts} in {self.news}"
        )
        return self.told(event, **facts)[-1]

    def pid(self, part: str) -> int:
        """The process that a part is now."""
        return self.told("started", part=part)[-1]["pid"]

    @property
    def store_pid(self) -> int:
        """The embedded store's process."""
        return int((self.home / "store" / "valkey.pid").read_text())

    def log(self, part: str) -> str:
        """What a part has logged in its present life."""
        return Path(self.told("started", part=part)[-1]["log"]).read_text()

    def incarnation(self) -> str:
        """Of the worker, as its log says."""
        lines = [json.loads(line) for line in self.log("worker").splitlines() if line.startswith("{")]
        return next(line["worker"] for line in lines if line["kind"] == "worker.ready")


@contextlib.contextmanager
def running_up(person: Person, *words: str) -> Generator[Running]:
    """An `errands up --json` for some agent files, ready. Nothing of it is left afterwards, whatever the test did."""
    home = Path(person.environment["ERRANDS_HOME"])
    up = Running(person, person.begins("up", "--json", *words), home)
    try:
        eventually(lambda: up.told("ready") or up.typed.process.poll() is not None, within=60)
        assert up.told("ready"), up.typed.err
        yield up
    finally:
        person.leave()
        for pid in processes_of(home):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def processes_of(home: Path) -> list[int]:
    """Every living process that works for this home: it is in its environment, or, of the store, in its name."""
    variable, path = f"ERRANDS_HOME={home}".encode(), f"{home}/".encode()
    found: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            named = path in (folder / "cmdline").read_bytes()
            if named or variable in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return [pid for pid in found if not is_dead(pid)]


def nothing_runs(home: Path, *incarnations: str) -> bool:
    """Whether neither a process of ours nor one that was begun for a call is left."""
    return not processes_of(home) and not marked_processes(*incarnations)
