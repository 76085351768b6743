"""Bad input at the command line, each with its message and its exit code."""

import pytest
from tests.acceptance.person import Done, Here, agent_file
from tests.stub import HANG, STUB_KEY, Drop, Raw, Say, Status, StubServer


def complaint(done: Done) -> str:
    """The one thing that was said, on stderr alone."""
    assert done.out == ""
    assert "Traceback" not in done.err
    assert done.err.startswith("errands: ")
    return done.err


def test_a_misspelt_key_is_named_with_what_was_meant(here: Here) -> None:
    agent_file(here.folder / "agent.json", systemPromt="hello")

    done = here.types("run", "agent.json", "hi")

    assert done.code == 3
    assert "systemPromt" in complaint(done)
    assert "systemPrompt" in done.err


def test_every_mistake_of_a_file_is_told_by_agent_check(here: Here) -> None:
    agent_file(here.folder / "agent.json", maxConcurrency=0, slug="no blanks")

    done = here.types("agent", "check", "agent.json", "missing.json")

    assert done.code == 3
    assert done.out == ""
    for text in ("maxConcurrency", "slug", "missing.json: no such agent file"):
        assert text in done.err


def test_a_tool_folder_that_is_missing_is_named_with_the_places_looked_at(here: Here) -> None:
    agent_file(here.folder / "agent.json", tools=[], toolDirectory="nowhere")

    done = here.types("run", "agent.json", "hi")

    assert done.code == 3
    assert "toolDirectory" in complaint(done)
    assert str(here.folder / "nowhere") in done.err


def test_a_tool_that_no_worker_offers_is_named(here: Here) -> None:
    agent_file(here.folder / "agent.json", tools=["bash_*", "nobody_has_this"])

    done = here.types("run", "agent.json", "hi")

    assert done.code == 4
    assert "nobody_has_this" in complaint(done)


def test_a_worker_that_cannot_start_shows_its_last_words(here: Here) -> None:
    box = {"tag": "Module", "contents": {"Module": "no_such_module_anywhere"}}
    agent_file(here.folder / "agent.json", slug="broken", tools=[], functionToolboxes=[box])

    done = here.types("run", "agent.json", "hi")

    assert done.code == 3
    assert "no_such_module_anywhere" in done.err
    assert "errands: the worker for agent broken ended with 3" in done.err


def test_a_store_that_is_not_reachable_is_named_without_its_password(here: Here) -> None:
    done = here.having(ERRANDS_REDIS_URL="redis://:secret@127.0.0.1:1/0").types("session", "list")

    assert done.code == 7
    assert "127.0.0.1:1" in complaint(done)
    assert "secret" not in done.err


def test_a_setting_that_does_not_exist_is_named(here: Here) -> None:
    done = here.having(ERRANDS_REDIS_ULR="redis://x").types("session", "list")

    assert done.code == 3
    assert "ERRANDS_REDIS_URL" in complaint(done)


def test_a_model_without_a_key_or_a_name_is_refused_before_anything_starts(here: Here) -> None:
    no_key = here.having(OPENAI_API_KEY="").types("run", "agent.json", "hi")
    no_name = here.having(ERRANDS_MODEL="").types("run", "agent.json", "hi")

    assert "OPENAI_API_KEY" in complaint(no_key)
    assert "ERRANDS_MODEL" in complaint(no_name)
    assert (no_key.code, no_name.code) == (3, 3)


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("frobnicate",), 2, "frobnicate"),
        (("run", "agent.json"), 2, "PROMPT"),
        (("calls", "logs", "x", "--colour"), 2, "--colour"),
        (("calls", "ls", "--limit", "0"), 2, "--limit"),
        (("run", "agent.json", "hi", "--timeout", "0"), 2, "--timeout"),
        (("agent", "check"), 2, "FILE"),
        (("tools", "call", "bash_fake", "--args", "{"), 2, "--args"),
        (("tools", "call", "bash_fake", "--args", "[1]"), 2, "--args"),
        (("tools", "call", "bash_fkae"), 4, "did you mean 'bash_fake'"),
        (("calls", "show", "nobody"), 4, "nobody"),
        (("calls", "cancel", "nobody"), 4, "nobody"),
        (("calls", "ls", "--session", "nobody"), 4, "nobody"),
        (("session", "print", "nobody"), 4, "nobody"),
        (("session", "resume", "nobody"), 4, "nobody"),
        (("session", "cancel", "nobody"), 4, "nobody"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_cannot_be_done_says_so_in_one_line(here: Here, words: tuple[str, ...], code: int, text: str) -> None:
    done = here.types(*words)

    assert text in complaint(done)
    assert done.err.count("\n") == 1
    assert done.code == code


@pytest.mark.parametrize(
    "fault",
    [Status(429, headers=(("retry-after-ms", "1"),)), Status(500), Raw(b"<html>"), Drop()],
    ids=["429", "500", "garbage", "dropped"],
)
def test_an_endpoint_that_fails_once_is_asked_again(here: Here, stub: StubServer, fault: Status | Raw | Drop) -> None:
    stub.program([fault, Say("hello")])

    done = here.types("run", "agent.json", "hi")

    assert (done.code, done.out) == (0, "hello\n")


def test_a_refused_key_pauses_the_run_and_with_a_good_one_it_resumes(here: Here, stub: StubServer) -> None:
    stub.program([Status(401), Say("hello")])

    paused = here.types("run", "agent.json", "hi")
    sid = session_to_resume(paused)
    still = here.having(OPENAI_API_KEY="").types("session", "resume", sid)
    resumed = here.having(OPENAI_API_KEY=STUB_KEY).types("session", "resume", sid)

    assert (paused.code, still.code) == (8, 8)
    assert "Set OPENAI_API_KEY" in still.err
    assert "endpoint refused the key" in paused.err
    assert "Check the key" in paused.err
    assert (resumed.code, resumed.out) == (0, "hello\n")


def test_an_endpoint_that_goes_on_failing_pauses_the_run_with_the_last_cause(here: Here, stub: StubServer) -> None:
    stub.program([Status(429), Status(500), Raw(b"no JSON"), HANG, Say("hello")])

    paused = here.having(ERRANDS_MODEL_TIMEOUT_SECONDS="0.5").types("run", "agent.json", "hi", "--json")
    resumed = here.types("session", "resume", session_to_resume(paused), "--json")

    assert paused.code == 8
    assert "endpoint timed out" in paused.err
    assert paused.json["status"] == "paused"
    assert resumed.json == {**paused.json, "status": "completed", "answer": "hello"}


def test_a_paused_run_can_be_cancelled_and_is_then_not_resumed(here: Here, stub: StubServer) -> None:
    stub.program([Status(401)])
    sid = session_to_resume(here.types("run", "agent.json", "hi"))

    cancelled = here.types("session", "cancel", sid, "--json")

    assert cancelled.json == {"session_id": sid, "status": "cancelled"}
    assert here.types("session", "resume", sid).code == 5


def test_a_rule_for_a_tool_that_the_agent_does_not_have_is_noted(here: Here, stub: StubServer) -> None:
    stub.program([Say("hello")])
    rule = {"tool": "nobody_has_this", "disposition": {"tag": "runAsync"}}
    agent_file(here.folder / "agent.json", toolCallPolicyConfig={"rules": [rule]})

    done = here.types("run", "agent.json", "hi")

    assert (done.code, done.out) == (0, "hello\n")
    assert "note: the policy of agent tester has a rule for nobody_has_this" in done.err


def session_to_resume(done: Done) -> str:
    """The session that a command says how to go on with."""
    _, _, rest = done.err.partition("errands session resume ")
    return rest.split()[0]


def test_an_agent_file_that_is_a_folder_is_refused(here: Here) -> None:
    done = here.types("run", str(here.folder), "hi")

    assert done.code == 3
    assert str(here.folder) in complaint(done)
