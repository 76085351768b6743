"""A log of 40,000 lines, read by a model while it is written and afterwards: whole, in pages, within bounded memory."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.person import Person, Typed, agent_file
from tests.stub import Call, Received, Say, StubServer

RESULT, STATUS = "get-tool-call-result", "get-tool-call-status"
LINES = [f"{number:05} {'ERROR' if number % 10_000 == 0 else 'INFO'} step of the build" for number in range(1, 40_001)]
MAX_BYTES = 30_000
BUILD = f"""#!{sys.executable}
import json, os, sys, time
if sys.argv[1] == "describe":
    print(json.dumps({{"slug": "build"}}))
    sys.exit()
for number in range(1, 40_001):
    print(f"{{number:05}} {{'ERROR' if number % 10_000 == 0 else 'INFO'}} step of the build", flush=number == 25_000)
    while number == 25_000 and not os.path.exists("go_on"):
        time.sleep(0.01)
"""
FLOOD = f"""#!{sys.executable}
import json, sys
if sys.argv[1] == "describe":
    print(json.dumps({{"slug": "flood"}}))
    sys.exit()
for number in range(2_000_000):
    print(f"{{number:07}}" + "x" * 92)
"""


def tool(folder: Path, name: str, text: str) -> None:
    (folder / "tools").mkdir(exist_ok=True)
    script = folder / "tools" / name
    script.write_text(text)
    script.chmod(0o755)


@pytest.fixture
def reader(person: Person, stub: StubServer) -> Person:
    """Somebody whose agent has tools that print much, and may read what they print."""
    boxes = [{"tag": "SystemToolbox", "contents": {"Capabilities": [RESULT, STATUS]}}]
    policy = {"default": {"tag": "runAsync", "attachSeconds": 0}}
    agent_file(
        person.folder / "agent.json", slug="reader", tools=[], toolDirectory="tools", builtinToolboxes=boxes,
        delivery={"maxResultBytes": MAX_BYTES}, toolCallPolicyConfig=policy,
    )  # fmt: skip
    return person.with_model(stub)


def answers_of(received: Received) -> list[Any]:
    """What the capabilities have answered so far; placeholders are not among it."""
    texts = [str(message["content"]) for message in received.messages if message["role"] == "tool"]
    return [json.loads(text) for text in texts[1:]]


@dataclass
class Reader:
    """A model that starts a build, reads what it prints, has it go on, and reads the rest."""

    folder: Path
    lines: list[str] = field(default_factory=list[str])
    states: list[str] = field(default_factory=list[str])
    parked: str = ""

    def __call__(self, received: Received) -> Say:
        turn = sum(message["role"] == "assistant" for message in received.messages)
        if turn == 0:
            return Say("I build.", (Call("bash_build", "{}", "call_build"),))
        said = answers_of(received)
        match said[-1] if said else {}:
            case {"result": str(parked)}:
                self.parked = parked
                return self.ask(said[-2])
            case {"matches": list()}:
                return Say("I have read it.")
            case {"text": str(text), "status": str(state)}:
                self.lines += text.splitlines()
                self.states.append(state)
                return self.go_on(said[-1])
            case _:
                return self.ask({})

    def go_on(self, page: Any) -> Say:
        if page["next_cursor"] is None:
            return Say("", (Call(RESULT, json.dumps({"tool_call_id": "call_build", "grep": "^\\d+ ERROR"})),))
        if len(self.lines) == 25_000:
            (self.folder / "go_on").touch()
            wait = {"tool_call_id": "call_build", "wait_for_completion": True, "timeout_seconds": 60}
            return Say("", (Call(STATUS, json.dumps(wait)),))
        return self.ask(page)

    def ask(self, page: Any) -> Say:
        more = {"cursor": page["next_cursor"]} if page else {}
        return Say("", (Call(RESULT, json.dumps({"tool_call_id": "call_build", **more})),))


def test_a_log_of_forty_thousand_lines_is_read_whole_while_it_is_written_and_afterwards(
    reader: Person, stub: StubServer
) -> None:
    tool(reader.folder, "build", BUILD)
    model = Reader(reader.folder)
    stub.program(model)

    done = reader.types("run", "agent.json", "build it")

    assert (done.code, done.out) == (0, "I have read it.\n"), done.err
    assert model.lines == LINES
    assert {"running", "completed"} <= set(model.states)
    found = answers_of(stub.journal[-1])[-1]
    assert found["matches"] == [f"{number}: {LINES[number - 1]}" for number in (10_000, 20_000, 30_000, 40_000)]
    # what reached the model at once is never more than its file says, but for the words around it
    assert max(len(str(message["content"])) for message in stub.journal[-1].messages) < MAX_BYTES * 1.1
    mark = re.search(r"\[a long result \((\d+) bytes, 40000 lines\): lines (\d+) to (\d+) are left out", model.parked)
    assert mark
    assert int(mark[1]) == len("\n".join(LINES))


def memory_of(typed: Typed) -> dict[str, int]:
    """The most memory, in MB, that the processes below a command, and it itself, have had so far."""
    return {name: max(peak for other, peak in _peaks(typed.process.pid) if other == name) for name in ("run", "worker")}


def _peaks(pid: int, name: str = "run") -> Iterator[tuple[str, int]]:
    status = Path(f"/proc/{pid}/status").read_text()
    peak = re.search(r"VmHWM:\s+(\d+) kB", status)
    command = Path(f"/proc/{pid}/cmdline").read_text()
    name = "store" if "valkey" in command.partition("\0")[0] else name
    if peak:
        yield name, int(peak[1]) // 1024
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        yield from _peaks(int(child), "worker")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_flood_of_output_stays_within_the_memory_that_a_small_one_takes(reader: Person, stub: StubServer) -> None:
    tool(reader.folder, "flood", FLOOD)
    tool(reader.folder, "build", BUILD)
    (reader.folder / "go_on").touch()
    peaks: dict[str, dict[str, int]] = {}
    running: list[Typed] = []

    def model(received: Received) -> Say:
        told = str(received.messages)
        for name in ("build", "flood"):
            if f"(bash_{name}) completed" in told:
                peaks.setdefault(name, memory_of(running[0]))
            elif f'"call_{name}"' not in told.replace("'", '"'):
                return Say("", (Call(f"bash_{name}", "{}", f"call_{name}"),))
            else:
                return Say("I wait.")
        return Say("done")

    stub.program(model)
    running.append(reader.begins("run", "agent.json", "print it"))
    done = running[0].done(100)

    assert (done.code, done.out) == (0, "done\n"), done.err
    print("MB", peaks)
    for name in ("run", "worker"):
        assert peaks["flood"][name] - peaks["build"][name] < 80
