"""Calls that the model names, relates and repeats, from the command line, on a real worker."""

import json
import shutil
from pathlib import Path
from typing import Any

from tests.acceptance.person import Here, Person, agent_file
from tests.stub import Call, Received, Say, StubServer

BACKGROUND = {"default": {"tag": "runAsync"}}
CAPABILITIES = ["get-tool-call-status", "wait-for-tool-calls", "cancel-tool-call"]
SYSTEM = [{"tag": "SystemToolbox", "contents": {"Name": "s", "Capabilities": CAPABILITIES}}]


def named(name: str, **arguments: Any) -> Call:
    """A call of the tool that prints a text, under a name that the model gives it."""
    return Call("bash_fake", json.dumps({"mode": "say", "task_handle": name, **arguments}), f"call_{name}")


def with_registry(here: Here | Person, policy: dict[str, Any] = BACKGROUND, **more: Any) -> None:
    written = {"handles": True, "references": True}
    plain = {"builtinToolboxes": SYSTEM, "asyncYieldStrategy": "yieldWhenAllDone", **more}
    agent_file(here.folder / "agent.json", slug="naming", toolCallPolicyConfig=policy, registry=written, **plain)


def told(received: Received) -> str:
    return "\n".join(str(message["content"]) for message in received.messages if message["role"] != "assistant")


def with_own_tools(person: Person, stub: StubServer) -> Person:
    """A worker of its own starts with each run and ends with it."""
    (person.folder / "tools").mkdir()
    shutil.copy(Path(__file__).parents[1] / "tools" / "bash" / "fake", person.folder / "tools")
    return person.with_model(stub)


OWN: dict[str, Any] = {"tools": [], "toolDirectory": "tools"}


def test_a_reference_cannot_carry_anything_past_a_wrapper(person: Person, stub: StubServer) -> None:
    dangerous = {
        "match": {"args": {"path": "text", "glob": "*rm -rf*"}},
        "decorators": [{"tag": "before", "hook": {"command": "hooks/never"}}],
    }
    person = with_own_tools(person, stub)
    hooks = person.folder / "hooks"
    hooks.mkdir()
    never = hooks / "never"
    never.write_text('#!/bin/sh\ncat >/dev/null\necho \'{"action": "deny", "message": "never that"}\'\n')
    never.chmod(0o755)
    with_registry(person, {**BACKGROUND, "wrappers": [dangerous]}, **OWN)
    printed = Call("bash_fake", json.dumps({"mode": "cat", "input": "rm -rf /", "task_handle": "first"}), "call_first")
    stub.program([Say("", (printed, named("second", text={"$result": "first"}))), Say("done")])

    person.types("run", "agent.json", "go")

    said = told(stub.journal[-1])
    assert "rm -rf /" in said
    assert said.count("never that") == 1


def test_a_chain_runs_on_a_worker_and_a_failure_skips_what_depends_on_it(here: Here, stub: StubServer) -> None:
    with_registry(here)
    failing = {"mode": "fail", "text": {"$result": "a"}}
    stub.program([
        Say("", (
            named("a", text="from a"), named("b", **failing), named("c", text={"$result": "b"}),
            named("d", text="d after a", depends_on=["a"]),
        )),
        Say("done"),
    ])  # fmt: skip

    done = here.types("run", "agent.json", "go", "--json")

    said = told(stub.journal[-1])
    assert done.json["answer"] == "done"
    assert "not run: it depends on b, which failed" in said
    assert "d after a" in said
    rows = here.types("calls", "ls", "--session", done.json["session_id"], "--json").json
    assert {row["task_handle"]: row["status"] for row in rows} == {
        "a": "completed", "b": "failed", "c": "skipped", "d": "completed",
    }  # fmt: skip


def test_a_handle_stays_bound_over_a_restart_of_everything(person: Person, stub: StubServer) -> None:
    person = with_own_tools(person, stub)
    with_registry(person, **OWN)
    once = (named("once", text="one"),)
    stub.program([Say("", once), Say("first"), Say("", once), Say("second")])

    sid = person.types("run", "agent.json", "go", "--json").json["session_id"]
    person.types("session", "send", sid, "again")
    again = person.types("session", "resume", sid, "--agent-file", "agent.json")

    assert again.out == "second\n", again.err
    assert "task_handle: 'once' is bound to call_once (bash_fake, completed)" in told(stub.journal[-1])
