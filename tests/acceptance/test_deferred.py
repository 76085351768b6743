"""Calls that wait for somebody outside, from the command line: the paused report, the answers, and going on."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.desk import a_store, a_worker
from tests.acceptance.person import COMMAND, Done, Here, Person, agent_file
from tests.acceptance.screen import screen
from tests.stub import Call, Received, Say, StubServer
from tests.waiting import eventually

DEFER = {"default": {"tag": "defer", "reason": "a person decides"}}
ASKING = [{"tag": "SystemToolbox", "contents": {"Name": "s", "Capabilities": ["ask-user"]}}]


def say(text: str, provider_id: str) -> Call:
    """A call of the tool that prints a text."""
    return Call("bash_fake", json.dumps({"mode": "say", "text": text}), provider_id)


def deferring(folder: Path, **more: Any) -> None:
    agent_file(folder / "agent.json", slug="deferring", toolCallPolicyConfig=DEFER, **more)


def tool_messages(received: Received) -> list[str]:
    return [str(message["content"]) for message in received.messages if message["role"] == "tool"]


def blocked(here: Here | Person, *words: str) -> Any:
    """Run the agent until it waits for somebody outside; answers what was printed."""
    done = here.types("run", "agent.json", "go", *words)
    assert done.code == 6, done.err
    return done.json


def tokens(report: Any) -> list[str]:
    return [one["continuation_token"] for one in report["deferred_calls"]]


def result(folder: Path, text: str) -> str:
    (folder / "result").write_text(text)
    return "result"


# ---- the whole way


def test_a_run_is_completed_from_outside_with_a_restart_of_every_process_in_between(
    person: Person, stub: StubServer
) -> None:
    tools = person.folder / "tools"
    tools.mkdir()
    script = tools / "approve_deploy"
    script.write_text('#!/bin/sh\n[ "$1" = describe ] && echo \'{"slug": "approve_deploy"}\' || touch it_ran\n')
    script.chmod(0o755)
    deferring(person.folder, tools=[], toolDirectory="tools")
    person = person.with_model(stub)
    stub.program([Say("I ask.", (Call("bash_approve_deploy", "{}", "call_9"),)), Say("It is done.")])

    paused = person.types("run", "agent.json", "deploy it")  # its store, worker and orchestrator end with it

    assert paused.code == 6
    sid = paused.json["session_id"]
    [token] = tokens(paused.json)
    assert paused.out == json.dumps({
        "status": "paused",
        "reason": "waiting for deferred tool calls",
        "session_id": sid,
        "deferred_calls": [
            {"tool": "bash_approve_deploy", "tool_call_id": "call_9", "continuation_token": token}
        ],
    }, separators=(",", ":")) + "\n"  # fmt: skip
    assert f"errands session resume {sid} --agent-file agent.json" in paused.err
    assert "bash_approve_deploy (call_9): a person decides" in paused.err
    assert person.types("session", "list", "--json").json[0]["status"] == "waiting_external"

    [row] = person.types("session", "pending", sid, "--show-tokens", "--json").json
    assert (row["provider_call_id"], row["status"], row["continuation_token"]) == ("call_9", "deferred", token)
    (person.folder / "answer.json").write_text('{"type": "json", "content": {"ok": true}}')
    assert person.types("session", "complete", token, "answer.json").code == 0
    resumed = person.types("session", "resume", sid)  # the model is told without a worker

    assert "note: session" in resumed.err
    assert (resumed.code, resumed.out) == (0, "It is done.\n")
    assert tool_messages(stub.journal[-1]) == ['{"ok":true}']
    assert not list(person.folder.rglob("it_ran"))
    assert (person.folder / "home" / "secret-key").stat().st_mode & 0o777 == 0o600


def test_calls_of_one_turn_with_equal_arguments_each_get_their_own_answer(here: Here, stub: StubServer) -> None:
    deferring(here.folder)
    stub.program([Say("", tuple(say("same", f"call_{n}") for n in (1, 2, 3))), Say("done")])
    report = blocked(here, "--json")
    first, second, third = tokens(report)
    assert [one["tool_call_id"] for one in report["deferred_calls"]] == ["call_1", "call_2", "call_3"]

    here.types("session", "complete", second, result(here.folder, " two\n"))
    still = here.types("session", "resume", report["session_id"])
    here.types("session", "deny", third, "not the third")
    here.types("session", "fail", first, "one failed")

    assert (still.code, tokens(still.json)) == (6, [first, third])
    assert here.types("session", "resume", report["session_id"]).out == "done\n"
    assert tool_messages(stub.journal[-1]) == ["async tool call failed: one failed", "two", "not the third"]


def test_a_call_is_completed_while_its_session_is_stepped_by_others(user: Person, stub: StubServer) -> None:
    deferring(user.folder)
    stub.program([Say("", (say("x", "call_1"),)), Say("done")])
    serving = user.begins("orchestrator")
    sid = user.types("session", "start", "agent.json", "go").out.strip()
    [row] = eventually(lambda: user.types("session", "pending", sid, "--json").json, within=30)

    done = user.types("session", "complete", row["tool_call_id"], result(user.folder, "by its id"))
    serving.says(f'"kind":"run.ended","level":"info","session_id":"{sid}"')
    serving.process.terminate()

    assert (done.code, "nobody steps" in done.err) == (0, False)
    assert '"kind":"tool_call.deferred"' in serving.done().err
    assert row["tool_call_id"] in serving.err
    assert tool_messages(stub.journal[-1]) == ["by its id"]


# ---- answers


@pytest.fixture
def waiting(here: Here, stub: StubServer) -> Any:
    """The report of a run with one call that waits."""
    deferring(here.folder)
    stub.program([Say("", (say("shown", "call_1"),)), *[Say("done")] * 3])
    return blocked(here)


def test_the_same_answer_is_confirmed_again_and_another_one_is_a_conflict(here: Here, waiting: Any) -> None:
    [token] = tokens(waiting)

    first = here.types("session", "complete", token, result(here.folder, "fine"), "--json")
    again = here.types("session", "complete", token, result(here.folder, " fine "), "--json")
    other = here.types("session", "deny", token, "no")

    assert (first.code, again.code) == (0, 0)
    assert first.json == again.json
    assert list(first.json) == ["tool_call_id", "session_id", "tool", "outcome"]
    assert (other.code, "completed: fine" in other.err, other.out) == (5, True, "")


def test_a_token_can_be_kept_from_the_list_of_processes(user: Person, here: Here, waiting: Any) -> None:
    [token] = tokens(waiting)
    command = [*COMMAND, "session", "complete", "-", "-"]
    piped = subprocess.run(
        command, cwd=user.folder, env=user.environment, input=f"{token}\nfrom stdin\n", capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    by_variable = here.having(ERRANDS_TOKEN=token).types("session", "complete", result(here.folder, "from stdin"))
    other = here.types("session", "fail", "another answer")

    assert "outcome       completed" in piped.stdout
    assert (by_variable.code, by_variable.out) == (0, piped.stdout)
    assert (other.code, "completed: from stdin" in other.err) == (5, True)


def test_leave_runs_the_call_as_it_was_shown(here: Here, stub: StubServer, waiting: Any) -> None:
    approved = here.types("session", "approve", *tokens(waiting), "--json")
    resumed = here.types("session", "resume", waiting["session_id"])

    assert (approved.code, approved.json["outcome"]) == (0, "approved")
    assert (resumed.code, tool_messages(stub.journal[-1])) == (0, ["shown"])
    assert here.types("session", "approve", *tokens(waiting), "--json").out == approved.out


def test_leave_may_be_given_for_other_arguments_that_fit(here: Here, stub: StubServer, waiting: Any) -> None:
    edit = ("session", "approve", *tokens(waiting), "--args")

    unfit = [here.types(*edit, args) for args in ('{"mode": 7}', "[]", "{", "{}")]
    empty = [here.types(*edit, args).err for args in ("", " ", "null")]
    edited = here.types(*edit, '{"mode": "say", "text": "edited"}')
    resumed = here.types("session", "resume", waiting["session_id"])

    assert [done.code for done in unfit] == [2, 2, 2, 2]
    assert ["the new arguments cannot be used: a JSON object is expected" in said for said in empty] == [True] * 3
    assert (edited.code, resumed.code, tool_messages(stub.journal[-1])) == (0, 0, ["edited"])
    assert here.types("session", "approve", *tokens(waiting)).code == 5


def test_answers_after_a_cancel_come_too_late(here: Here, stub: StubServer, waiting: Any) -> None:
    [row] = here.types("session", "pending", waiting["session_id"], "--json").json
    here.types("calls", "cancel", row["tool_call_id"])

    late = here.types("session", "complete", *tokens(waiting), result(here.folder, "fine"))

    assert (late.code, "was cancelled; the answer came too late" in late.err) == (5, True)
    assert here.types("session", "resume", waiting["session_id"]).code == 0


def test_an_answer_that_cannot_be_understood_says_why(here: Here, waiting: Any) -> None:
    [token] = tokens(waiting)

    def told(*words: str) -> tuple[int, str]:
        done: Done = here.types("session", *words)
        assert token not in done.err
        return done.code, done.err

    assert [told("complete", token, result(here.folder, text))[0] for text in (" \n", "\ufeff\n", "\x07")] == [2] * 3
    assert told("complete", token, "no/such/file")[0] == 2
    assert "FILE is missing" in told("complete", token)[1]
    assert "REASON is missing" in told("deny", token, " ")[1]
    assert "ERRANDS_TOKEN" in told("approve")[1]
    assert told("approve")[0] == 2
    for wrong in ("ect_nonsense", "nonsense", token[:-1] + ("A" if token[-1] != "A" else "B")):
        assert told("fail", wrong, "x")[0] == 4
    assert told("answer", token, "yes")[0] == 5
    assert here.types("session", "pending", "nonsense").code == 4


def test_what_waits_is_shown_to_a_person_without_its_tokens(here: Here, waiting: Any) -> None:
    sid = waiting["session_id"]
    shown = here.types("session", "pending", sid)
    with_tokens = here.types("session", "pending", sid, "--show-tokens")
    rows = here.types("session", "pending", sid, "--json").json

    assert {"tool", "kind", "reason", "arguments", "expires_at"} <= set(shown.out.split())
    assert '{"mode":"say","text":"shown"}' in shown.out
    assert tokens(waiting)[0] not in shown.out
    assert tokens(waiting)[0] in with_tokens.out
    assert list(rows[0])[-5:] == ["reason", "expires_at", "kind", "deferred_at", "arguments"]
    assert sid in {row["session_id"] for row in here.types("session", "pending", "--json").json}


def test_no_token_and_no_argument_stands_in_events_or_logs(here: Here, stub: StubServer) -> None:
    deferring(here.folder)
    stub.program([Say("", (say("shown", "call_1"),)), Say("done")])

    report = blocked(here, "--log-json-file", "log.jsonl")

    log = (here.folder / "log.jsonl").read_text()
    kinds = [json.loads(line)["kind"] for line in log.splitlines()]
    assert (kinds.count("tool_call.deferred"), kinds.count("run.blocked")) == (1, 1)
    assert not any(secret in log for secret in ("shown", *tokens(report)))


# ---- hooks that ask

ASKING_HOOK = """#!/bin/sh
cat >> FOLDER/asked; echo >> FOLDER/asked
echo '{"action": "defer", "reason": "is it wanted?"}'
"""


@pytest.fixture
def asked(
    tmp_path: Path, stub: StubServer, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Here]:
    """Somebody with a store of their own, an agent file whose hook asks about every call, and a worker for it."""
    tool = '#!/bin/sh\n[ "$1" = describe ] && echo \'DESCRIBED\' || echo "deployed to $3"\n'
    for folder, name, text in (
        ("tools", "deploy", tool.replace("DESCRIBED", '{"slug": "deploy", "args": [{"name": "env"}]}')),
        ("hooks", "ask", ASKING_HOOK.replace("FOLDER", str(tmp_path))),
    ):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(text)
        (tmp_path / folder / name).chmod(0o755)
    wrapper = {"match": {}, "decorators": [{"tag": "before", "hook": {"command": "hooks/ask"}}]}
    policy = {"default": {"tag": "runSync"}, "wrappers": [wrapper]}
    agent = agent_file(
        tmp_path / "agent.json", slug="asked", tools=[], toolDirectory="tools", toolCallPolicyConfig=policy
    )
    words = (str(agent), "--hooks", str(tmp_path / "hooks"), "--slots", "1")
    with (
        a_store(tmp_path / "home") as settings,
        a_worker(settings, tmp_path / "worker.log", *words, default_tools=False),
    ):
        yield Here(Person.at(tmp_path).with_store(settings).with_model(stub), monkeypatch, capfd)


def test_a_hook_that_asked_does_not_ask_again_about_what_leave_was_given_for(asked: Here, stub: StubServer) -> None:
    deploys = tuple(Call("bash_deploy", json.dumps({"env": env}), f"call_{env}") for env in ("prod", "test"))
    stub.program([Say("", deploys), Say("done")])

    first = asked.types("run", "agent.json", "go")
    sid = first.json["session_id"]
    row, _ = asked.types("session", "pending", sid, "--json").json
    asked.types("session", "approve", tokens(first.json)[0])
    second = asked.types("session", "resume", sid)
    asked.types("session", "approve", *tokens(second.json), "--args", '{"env": "lab"}')
    last = asked.types("session", "resume", sid)

    assert (first.code, second.code, last.code) == (6, 6, 0)
    assert (row["kind"], row["reason"], row["arguments"]) == ("hook", "is it wanted?", {"env": "prod"})
    assert tool_messages(stub.journal[-1]) == ["deployed to prod", "deployed to lab"]
    inputs = [json.loads(line)["arguments"] for line in (asked.folder / "asked").read_text().splitlines()]
    assert inputs == [{"env": "prod"}, {"env": "test"}]


# ---- questions


def test_a_question_is_asked_answered_by_number_and_dismissed(here: Here, stub: StubServer) -> None:
    deferring(here.folder, builtinToolboxes=ASKING)
    asked = {"question": "Which colour?", "choices": ["red", "blue"]}
    questions = (Call("ask-user", json.dumps(asked), "call_1"), Call("ask-user", '{"question": "Why?"}', "call_2"))
    stub.program([Say("", questions), Say("I wait."), Say("Blue, and no reason.")])

    paused = here.types("run", "agent.json", "go")
    first, second = tokens(paused.json)
    none = here.types("session", "answer", first, "green")
    answered = here.types("session", "answer", first, "2", "--json")
    dismissed = here.types("session", "answer", second, "not now", "--dismiss", "--json")

    assert (paused.code, "Which colour? (red / blue)" in paused.err) == (6, True)
    assert (none.code, "1 red; 2 blue" in none.err) == (2, True)
    assert (answered.json["outcome"], dismissed.json["outcome"]) == ("answered", "dismissed")
    assert here.types("session", "resume", paused.json["session_id"]).out == "Blue, and no reason.\n"
    said = str(stub.journal[-1].messages[-1]["content"])
    assert '{"answered":true,"answer":"blue"}' in said
    assert '{"answered":false,"reason":"not now"}' in said


# ---- beside it


def test_a_step_that_waits_for_somebody_outside_says_so(here: Here, stub: StubServer) -> None:
    deferring(here.folder)
    stub.program([Say("I ask.", (say("x", "call_1"),)), Say("done")])
    sid = here.types("session", "start", "agent.json", "go").out.strip()

    done = here.types("session", "step", sid, "--json")
    told = here.types("session", "step", sid)

    assert (done.code, done.json["status"], done.json["said"]) == (6, "blocked", "I ask.")
    assert [row["status"] for row in done.json["running_calls"]] == ["deferred"]
    assert (told.code, f"errands session pending {sid}" in told.err) == (6, True)


def test_a_person_at_a_terminal_is_told_what_waits_and_stays(user: Person, stub: StubServer) -> None:
    deferring(user.folder)
    stub.program([Say("I ask.", (say("x", "call_1"),)), Say("It is done.")])

    with screen(user, "run", "agent.json", "go") as shown:
        shown.shows("⏳ bash_fake (call_1): waits for outside: a person decides")
        shown.shows("errands session complete|fail|deny|approve TOKEN")
        newest = user.types("session", "pending", "--json").json[-1]
        user.types("session", "complete", newest["tool_call_id"], result(user.folder, "yes"))
        shown.shows_line("It is done.")
        assert shown.done() == 0
