"""`errands run` and `errands session resume|cancel`: from a prompt to an answer, and everything that comes between."""

import json

from tests.acceptance.person import Here, Person, agent_file
from tests.stub import HANG, Call, Hold, Received, Say, StubServer
from tests.waiting import eventually

SLEEP = Call("bash_fake", json.dumps({"mode": "sleep"}), "call_sleep")
SAY = Call("bash_fake", json.dumps({"mode": "say", "text": "said"}), "call_say")


def last_text(received: Received) -> str:
    """The newest message of a request."""
    return str(received.messages[-1]["content"])


def test_an_answer_goes_to_stdout_and_all_else_to_stderr(user: Person, stub: StubServer) -> None:
    stub.program([Say("I look.", (SAY,)), Say("It said: said.")])

    done = user.types("run", "agent.json", "what does it say?")

    assert (done.code, done.out) == (0, "It said: said.\n")
    assert [line for line in done.err.splitlines() if "call_say" in line][-1] == "✓ bash_fake (call_say): completed"
    assert "I look." in done.err
    assert "\x1b" not in done.err


def test_with_json_the_answer_is_one_document_and_resuming_prints_it_again(here: Here, stub: StubServer) -> None:
    stub.program([Say("hello")])

    done = here.types("run", "agent.json", "hi", "--json")
    again = here.types("session", "resume", done.json["session_id"], "--json")

    assert list(done.json) == ["session_id", "status", "answer"]
    assert (done.json["status"], done.json["answer"]) == ("completed", "hello")
    assert (again.code, again.json) == (0, done.json)


def test_a_log_file_gets_one_line_for_each_event_without_times(here: Here, stub: StubServer) -> None:
    stub.program([Say("", (SAY,)), Say("done")])

    here.types("run", "agent.json", "hi", "--log-json-file", "log.jsonl")

    lines = [json.loads(line) for line in (here.folder / "log.jsonl").read_text().splitlines()]
    calls = [line for line in lines if line["kind"].startswith("tool_call.")]
    kinds = [line["kind"] for line in calls if line["kind"] != "tool_call.progressed"]
    assert kinds == ["tool_call.queued", "tool_call.started", "tool_call.completed"]
    assert all("ts" not in line and "said" not in json.dumps(line) for line in lines)
    assert {"session_id", "tool_call_id", "tool", "provider_call_id", "attempt", "elapsed_ms", "end_seq"} <= set(
        calls[-1]
    )


def test_a_worker_of_its_own_serves_the_toolboxes_of_the_file_and_goes(person: Person, stub: StubServer) -> None:
    tools = person.folder / "tools"
    tools.mkdir()
    script = tools / "where"
    script.write_text('#!/bin/sh\n[ "$1" = describe ] && echo \'{"slug": "where"}\' || env\n')
    script.chmod(0o755)
    agent_file(person.folder / "agent.json", slug="own", tools=[], toolDirectory="tools")
    stub.program([Say("", (Call("bash_where"),)), Say("seen")])

    done = person.with_model(stub).types("run", "agent.json", "hi")

    result = last_text(stub.journal[-1])
    assert (done.code, done.out) == (0, "seen\n")
    assert "ERRANDS_TOOL_CALL_ID" in result
    assert "OPENAI" not in result
    assert (person.folder / "home" / "logs").is_dir()


def test_a_time_limit_leaves_the_session_to_be_resumed(here: Here, stub: StubServer) -> None:
    stub.program([HANG, Say("at last")])
    here.having(ERRANDS_LEASE_SECONDS="1")  # who left does not hold the session for longer

    left = here.types("run", "agent.json", "hi", "--timeout", "0.5")
    resumed = here.types("session", "resume", resumable(left.err))

    assert left.code == 124
    assert (resumed.code, resumed.out) == (0, "at last\n")


def test_ctrl_c_cancels_the_turn_and_its_calls_and_keeps_the_session(user: Person, stub: StubServer) -> None:
    stub.program([Say("", (SLEEP,))])
    typed = user.begins("run", "agent.json", "hi")
    typed.says("call_sleep): running")

    typed.press_ctrl_c()
    done = typed.done()

    assert done.code == 130
    sid = done.err.split("errands session print ")[1].split()[0]
    rows = user.types("calls", "ls", "--session", sid, "--json").json
    assert [row["status"] for row in rows] == ["cancelled"]
    assert user.types("session", "cancel", sid).code == 5
    assert user.types("session", "resume", sid).code == 5


def test_a_second_ctrl_c_leaves_at_once(user: Person, stub: StubServer) -> None:
    stub.program([Hold(Say("late"))])
    typed = user.begins("run", "agent.json", "hi")
    eventually(lambda: stub.journal, within=20)

    typed.press_ctrl_c()
    typed.press_ctrl_c()
    done = typed.done(within=10)

    assert done.code == 130
    assert "The session is kept." in done.err


def test_a_run_that_somebody_else_cancels_says_so(user: Person, stub: StubServer) -> None:
    stub.program([Say("", (SLEEP,))])
    typed = user.begins("run", "agent.json", "hi", "--json")
    typed.says("call_sleep): running")
    sid = user.types("session", "list", "--json").json[0]["session_id"]

    cancelled = user.types("session", "cancel", sid, "--json")
    done = typed.done()

    assert cancelled.json == {"session_id": sid, "status": "cancelled"}
    assert done.code == 9
    assert done.json == {"session_id": sid, "status": "cancelled", "answer": None}


def test_a_run_beside_an_orchestrator_is_watched_whoever_steps_it(user: Person, stub: StubServer) -> None:
    serving = user.begins("orchestrator")
    stub.program([Say("", (SAY,)), Say("done")])

    done = user.types("run", "agent.json", "hi", "--json")
    sid = done.json["session_id"]
    serving.says(f'"kind":"run.ended","level":"info","session_id":"{sid}"')
    serving.process.terminate()

    assert done.json["answer"] == "done"
    assert serving.done().code == 0
    assert all("kind" in json.loads(line) for line in serving.err.splitlines())


def resumable(err: str) -> str:
    """The session that a command says how to go on with."""
    return err.split("errands session resume ")[1].split()[0]
