"""`errands session start|step|send|pause|export`: a session worked on with single commands."""

import io
import json
import sys
from pathlib import Path

import pytest
from tests.acceptance.person import Here, Person, agent_file
from tests.stub import HANG, Call, Say, StubServer

from errands_config import keys
from errands_config.settings import Settings
from errands_config.store import aio
from errands_orchestrator import sessions

SAY = Call("bash_fake", json.dumps({"mode": "say", "text": "said"}), "call_say")
SLEEP = Call("bash_fake", json.dumps({"mode": "sleep"}), "call_sleep")


def started(here: Here, *words: str) -> str:
    """Start a session; answers its id."""
    done = here.types("session", "start", "agent.json", *words)
    assert done.code == 0, done.err
    return done.out.strip()


# ---- start


def test_starting_asks_no_model_and_prints_the_id_alone(here: Here, stub: StubServer) -> None:
    sid = started(here, "hi")
    assert not stub.journal

    stub.program([Say("hello")])
    resumed = here.types("session", "resume", sid)

    assert (resumed.code, resumed.out) == (0, "hello\n")


def test_a_session_started_without_a_prompt_waits_for_one(here: Here, stub: StubServer) -> None:
    sid = started(here)
    nothing_said = here.types("session", "resume", sid)
    here.types("session", "send", sid, "hi")
    stub.program([Say("hello")])

    assert nothing_said.code == 5
    assert f"errands session send {sid} TEXT" in nothing_said.err
    assert here.types("session", "resume", sid).out == "hello\n"


def test_an_agent_that_has_run_is_started_by_its_slug(here: Here) -> None:
    agent_file(here.folder / "other.json", slug="known_by_name")
    first = here.types("session", "start", "other.json", "--json").json
    (here.folder / "other.json").unlink()

    again = here.types("session", "start", "known_by_name", "hi", "--json").json

    assert list(again) == ["session_id", "agent", "status"]
    assert (first["agent"], again["agent"]) == ("known_by_name", "known_by_name")


def test_what_cannot_be_started_says_why(here: Here) -> None:
    agent_file(here.folder / "own.json", slug="nobody_serves_it", tools=[], functionToolboxes=[])

    assert here.types("session", "start", "no_such_slug").code == 4
    assert here.types("session", "start", "nowhere/agent.json").code == 3
    assert here.types("session", "start", "agent.json", "--step").code == 2


# ---- step


def test_a_step_is_one_answer_and_the_wait_of_its_turn(here: Here, stub: StubServer) -> None:
    sid = started(here, "what does it say?")
    stub.program([Say("I look.", (SAY,)), Say("It said: said.")])

    first = here.types("session", "step", sid)
    row = here.types("session", "list", "--json").json[0]
    second = here.types("session", "step", sid, "--json")
    third = here.types("session", "step", sid)

    assert (first.code, first.out) == (8, "I look.\n")
    assert f"the next one: errands session step {sid}" in first.err
    assert (row["session_id"], row["status"]) == (sid, "paused")
    assert second.code == 0
    assert (second.json["status"], second.json["answer"], second.json["running_calls"]) == (
        "completed", "It said: said.", [],
    )  # fmt: skip
    assert third.code == 5


def test_a_step_names_the_calls_that_run_on(here: Here, stub: StubServer) -> None:
    agent_file(
        here.folder / "agent.json",
        toolCallPolicyConfig={"default": {"tag": "runAsync", "attachSeconds": 0}},
    )
    sid = started(here, "sleep")
    stub.program([Say("I start it.", (SLEEP,))])

    step = here.types("session", "step", sid, "--json")
    here.types("session", "cancel", sid)

    assert step.code == 8
    assert (step.json["status"], step.json["cause"], step.json["said"]) == ("paused", "stepped", "I start it.")
    assert [(call["provider_call_id"], call["tool"]) for call in step.json["running_calls"]] == [
        ("call_sleep", "bash_fake")
    ]


def test_start_can_do_the_first_step(here: Here, stub: StubServer) -> None:
    stub.program([Say("I look.", (SAY,)), Say("done")])

    done = here.types("session", "start", "agent.json", "hi", "--step")
    resumed = here.types("session", "resume", done.out.strip())

    assert done.code == 8
    assert "I look." in done.err
    assert "going on; it was paused: stepped" in resumed.err
    assert (resumed.code, resumed.out) == (0, "done\n")


# ---- send


def test_a_message_sent_twice_under_one_id_is_kept_once(here: Here, stub: StubServer) -> None:
    sid = started(here)

    first = here.types("session", "send", sid, "hi there", "--id", "mine", "--json").json
    again = here.types("session", "send", sid, "hi there", "--id", "mine", "--json").json

    assert first == {"id": "mine", "seq": first["seq"], "duplicate": False}
    assert again == {**first, "duplicate": True}
    stub.program([Say("hello")])
    here.types("session", "resume", sid)
    assert [message["content"] for message in stub.journal[0].messages if message["role"] == "user"] == ["hi there"]


def test_what_is_sent_can_come_from_stdin(here: Here, monkeypatch: pytest.MonkeyPatch, stub: StubServer) -> None:
    sid = started(here)
    monkeypatch.setattr(sys, "stdin", io.StringIO("two\nlines\n"))

    here.types("session", "send", sid, "-")

    stub.program([Say("hello")])
    here.types("session", "resume", sid)
    assert stub.journal[0].messages[-1]["content"] == "two\nlines"


def test_sending_says_what_is_wrong_and_when_nobody_would_hear_it(here: Here) -> None:
    sid = started(here)

    assert here.types("session", "send", "no-such-session", "hi").code == 4
    assert here.types("session", "send", sid, " ").code == 2
    assert f"`errands session resume {sid}` goes on with it" in here.types("session", "send", sid, "hi").err


async def test_a_full_mailbox_refuses_and_loses_nothing(user: Person, deployment: Settings) -> None:
    sid = user.types("session", "start", "agent.json").out.strip()
    async with aio(deployment) as store:
        for number in range(keys.MAIL_BOUND):
            await sessions.send(store, sid, f"message {number}")

    refused = user.types("session", "send", sid, "one more")

    assert refused.code == 5
    assert "mailbox full" in refused.err


def test_an_interrupt_is_heard_while_a_call_is_waited_for(user: Person, here: Here, stub: StubServer) -> None:
    agent_file(user.folder / "agent.json", toolCallPolicyConfig={"default": {"tag": "runSync"}})
    stub.program([Say("", (SLEEP,)), Say("I listen.", (SLEEP,))])
    typed = user.begins("run", "agent.json", "sleep")
    typed.says("call_sleep): running")
    sid = here.types("session", "list", "--json").json[0]["session_id"]

    here.types("session", "send", sid, "listen", "--interrupt")

    typed.says("I listen.")
    here.types("session", "cancel", sid)
    assert typed.done().code == 9


# ---- pause


def test_a_paused_run_says_so_and_goes_on_when_it_is_resumed(user: Person, here: Here, stub: StubServer) -> None:
    stub.program([Say("", (SAY,)), HANG, Say("at last")])
    typed = user.begins("run", "agent.json", "hi")
    typed.says("call_say): completed")
    sid = here.types("session", "list", "--json").json[0]["session_id"]

    paused = here.types("session", "pause", sid, "--json")
    left = typed.done()

    assert (paused.code, paused.json) == (0, {"session_id": sid, "status": "paused", "cause": "paused by user"})
    assert left.code == 8
    assert "the run is paused: paused by user" in left.err
    assert here.types("session", "pause", sid).code == 5
    resumed = here.types("session", "resume", sid)
    assert (resumed.code, resumed.out) == (0, "at last\n")
    assert "going on; it was paused: paused by user" in resumed.err


def test_there_is_nothing_to_pause_in_a_session_without_a_run(here: Here, stub: StubServer) -> None:
    stub.program([Say("hello")])
    sid = here.types("run", "agent.json", "hi", "--json").json["session_id"]

    assert here.types("session", "pause", sid).code == 5
    assert here.types("session", "pause", started(here)).code == 5
    assert here.types("session", "pause", "no-such-session").code == 4


# ---- export


def test_an_export_holds_the_session_whole(here: Here, stub: StubServer) -> None:
    stub.program([Say("I look.", (SAY,)), Say("It said: said.")])
    sid = here.types("run", "agent.json", "what does it say?", "--json").json["session_id"]

    whole = here.types("session", "export", sid).json

    assert whole["version"] == 1
    assert (whole["session"]["session_id"], whole["session"]["turns"]) == (sid, 2)
    assert whole["agent"]["slug"] == "tester"
    assert [entry["kind"] for entry in whole["entries"]] == ["user", "assistant", "tools", "assistant"]
    [call] = whole["calls"]
    assert (call["tool"], call["status"], call["arguments"]) == (
        "bash_fake",
        "completed",
        {"mode": "say", "text": "said"},
    )
    assert call["outcome"]["result"] == "said"
    kinds = [event["kind"] for event in whole["events"]]
    assert (kinds[0], kinds[-1], kinds.count("tool_call.completed")) == ("run.started", "run.ended", 1)
    assert whole["counts"] == {"entries": 4, "calls": 1, "mail": 0, "events": len(kinds)}


def test_an_export_into_a_file_is_for_its_owner_and_holds_no_right_to_write(here: Here, deployment: Settings) -> None:
    sid = started(here, "hi")
    file = Path(here.folder) / "session.json"

    done = here.types("session", "export", sid, "session.json")

    assert (done.code, done.out) == (0, "")
    assert file.stat().st_mode & 0o777 == 0o600
    whole = json.loads(file.read_text())
    assert [letter["text"] for letter in whole["mail"]] == ["hi"]
    assert not {"token", "channel", "lease", "snapshot"} & set(whole["session"])
    assert here.types("session", "export", "no-such-session").code == 4
