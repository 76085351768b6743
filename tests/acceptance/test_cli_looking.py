"""The commands that look at calls, tools, sessions and agents, and the few that touch one call."""

import json
from typing import Any

import pytest
from tests.acceptance.person import Here, Person
from tests.stub import Call, Say, StubServer
from tests.waiting import eventually

SLEEP = Call("bash_fake", json.dumps({"mode": "sleep"}), "call_sleep")
LINES = Call("bash_fake", json.dumps({"mode": "lines"}), "call_lines")


@pytest.fixture
def running(user: Person, stub: StubServer, here: Here) -> Any:
    """The row of a call that runs until it is cancelled, in a turn with one that has completed."""
    stub.program([Say("Both.", (LINES, SLEEP)), Say("I wait."), Say("All told."), Say("All told.")])
    typed = user.begins("run", "agent.json", "run both")
    typed.says("I wait.")
    return next(row for row in here.types("calls", "ls", "--json").json if row["provider_call_id"] == "call_sleep")


def test_a_call_is_listed_shown_followed_and_cancelled(here: Here, running: Any) -> None:
    cid, sid = running["tool_call_id"], running["session_id"]
    assert list(running) == [
        "tool_call_id", "provider_call_id", "task_handle", "session_id", "tool", "status", "attempt", "label", "worker",
        "queued_at", "started_at", "completed_at",
    ]  # fmt: skip
    assert running["status"] == "running"

    shown = here.types("calls", "show", cid, "--json").json
    assert shown["arguments"] == {"mode": "sleep"}
    assert shown["policy"]["disposition"] == "runAsync"

    printed = here.types("session", "print", sid).out
    assert "## ⏸️ Step 3: Partial Turn (in progress)" in printed
    assert "- `bash_fake` (`call_lines`): completed\n" in printed
    assert "- `bash_fake` (`call_sleep`): running (placeholder sent)\n" in printed

    rows = here.types("session", "list", "--json").json
    row = next(row for row in rows if row["session_id"] == sid)
    assert list(row) == ["session_id", "agent", "status", "created_at", "updated_at", "running_calls"]
    assert (row["agent"], row["status"], row["running_calls"]) == ("tester", "waiting_calls", 1)

    cancelled = here.types("calls", "cancel", cid, "--reason", "enough", "--json")
    assert cancelled.json == {
        "tool_call_id": cid, "cancelled": True, "previous_status": "running", "status": "cancelled",
    }  # fmt: skip
    again = here.types("calls", "cancel", cid)
    assert (again.code, again.out) == (5, "")
    assert "had already ended: cancelled" in again.err
    assert here.types("calls", "show", cid, "--json").json["reason"] == "enough"


def test_the_progress_of_a_call_is_followed_to_its_end(user: Person, here: Here, running: Any) -> None:
    cid = running["tool_call_id"]
    following = user.begins("calls", "logs", cid, "--follow", "--json")
    eventually(lambda: '"sleeping"' in following.out, within=20)

    here.types("calls", "cancel", cid)
    done = following.done()

    assert done.code == 0
    reports = [json.loads(line) for line in done.out.splitlines()]
    assert {"stream": "stdout", "line": "sleeping", "lines": 1, "bytes": 9} in [one["payload"] for one in reports]


def test_a_tool_is_called_through_its_queue(here: Here) -> None:
    arguments = json.dumps({"mode": "say", "text": "hello\x1b[31m"})

    done = here.types("tools", "call", "bash_fake", "--args", arguments)
    whole = here.types("tools", "call", "bash_fake", "--args", arguments, "--json").json
    failed = here.types("tools", "call", "bash_fake", "--args", json.dumps({"mode": "fail", "text": "no"}))
    refused = here.types("tools", "call", "bash_fake", "--args", "{}", "--json")

    assert (done.code, done.out, done.err) == (0, "hello\n", "")
    assert (whole["status"], whole["result"], whole["error"]) == ("completed", "hello", None)
    assert (failed.code, failed.out) == (1, "")
    assert "exit code 3" in failed.err
    assert (refused.code, refused.json["status"], refused.json["result"]) == (1, "failed", None)
    assert "invalid arguments" in refused.json["error"]


def test_tools_are_listed_with_queue_and_digest(here: Here) -> None:
    rows = {row["name"]: row for row in here.types("tools", "list", "--json").json}

    assert rows["bash_fake"]["queue"] == "default"
    assert (rows["bash_fake"]["workers"], rows["bash_fake"]["conflict"]) == (1, False)
    assert len(rows["bash_fake"]["digest"]) == 64
    head, *lines = here.types("tools", "list").out.splitlines()
    assert head.split() == ["NAME", "QUEUE", "KIND", "DIGEST", "WORKERS", "CONFLICT"]
    assert len(lines) == len(rows)


def test_agents_that_ran_are_listed(here: Here, stub: StubServer) -> None:
    stub.program([Say("hello")])
    here.types("run", "agent.json", "hi")

    rows = here.types("agent", "list", "--json").json

    assert "tester" in [row["slug"] for row in rows]


def test_the_schema_of_the_agent_file_is_json(here: Here) -> None:
    assert here.types("agent", "schema").json["title"] == "Errands agent file"


def test_a_checked_agent_file_is_said_to_be_good(here: Here) -> None:
    done = here.types("agent", "check", "agent.json", "--json")

    assert done.code == 0
    assert [(row["ok"], row["slug"], row["error"]) for row in done.json] == [(True, "tester", None)]


def test_the_doctor_finds_nothing_wrong_with_a_store_a_worker_and_a_home(here: Here) -> None:
    done = here.types("doctor", "--json")

    checks = {finding["check"] for finding in done.json}
    assert [finding for finding in done.json if finding["level"] == "wrong"] == []
    assert done.code == 0
    assert checks >= {"home", "installation", "store", "version", "cluster", "eviction", "persistence", "workers"}


def test_the_doctor_says_what_to_do_about_what_is_wrong(here: Here, user: Person) -> None:
    (user.folder / "home").mkdir(mode=0o755)

    done = here.types("doctor")

    assert done.code == 1
    assert f"chmod 700 {user.folder / 'home'}" in done.out
