"""A person at a terminal talks to an agent while its tools run."""

import json
import re
from pathlib import Path

from tests.acceptance.person import Person, agent_file
from tests.acceptance.screen import Screen, screen
from tests.stub import Call, Received, Say, StubServer

from errands_orchestrator.testing.strict.script import answers_from

HINT = "> say something meanwhile, or /help"
MESSAGES = [f"message {number:02}" for number in range(1, 41)]

SLOW_TOOL = """#!/bin/sh
if [ "$1" = describe ]; then echo '{"slug": "NAME", "description": "Takes its time."}'; exit; fi
echo "128 tests passed"
while [ ! -e done ]; do sleep 0.05; done
echo "412 tests passed"
"""

SCRIPT = [
    {
        "when": "run the tests",
        "say": "I run both.",
        "calls": [{"name": "bash_run_tests", "id": "call_tests"}, {"name": "bash_build", "id": "call_build"}],
    },
    {"when": ["what runs?", "answer me"], "say": "The tests and the build run."},
    {"when": "(bash_build) cancelled", "say": "Then without the build."},
    {"when": "how long?", "say": "A minute or so."},
    {"when": "(bash_run_tests) completed", "say": "All tests passed."},
]


def slow_tools(folder: Path) -> None:
    """Two tools that run until a file `done` is there."""
    tools = folder / "tools"
    tools.mkdir()
    for name in ("run_tests", "build"):
        script = tools / name
        script.write_text(SLOW_TOOL.replace("NAME", name))
        script.chmod(0o755)


def told_sid(shown: Screen) -> str:
    """The session that a command says how to go on with."""
    found = re.search(r"errands session send (\S+) TEXT", shown.text)
    assert found
    return found[1]


def test_a_person_asks_interrupts_cancels_leaves_and_comes_back_for_the_answer(user: Person, stub: StubServer) -> None:
    slow_tools(user.folder)
    policy = {"default": {"tag": "runAsync", "attachSeconds": 1}}
    build = {"tool": "bash_build", "disposition": {"tag": "runSync"}}
    agent_file(
        user.folder / "agent.json", slug="talker", tools=[], toolDirectory="tools", onRunFailure="keep",
        toolCallPolicyConfig={**policy, "rules": [build]},
    )  # fmt: skip
    (user.folder / "script.json").write_text(json.dumps(SCRIPT))
    stub.program(answers_from(user.folder / "script.json"))

    with screen(user, "run", "agent.json", "run the tests and build") as shown:
        shown.shows("⏳ bash_run_tests (call_tests): running: 128 tests passed")
        shown.shows("⏳ bash_build (call_build): running")
        shown.half_types("what ")
        shown.shows_line("> what")
        shown.types("runs?")
        shown.shows_line("queued: what runs?")  # the build is waited for, whatever a person says

        shown.types("!answer me")
        shown.shows("The tests and the build run.")
        assert "queued:" not in shown.text
        assert shown.text.index("> what runs?") < shown.text.index("> answer me") < shown.text.index("The tests and")

        shown.types("/calls")
        shown.shows("⏳ bash_build (call_build): running  0")
        shown.types("/cancel call_build")
        shown.shows_line("✗ bash_build (call_build): cancelled")
        shown.shows_line("Then without the build.")

        shown.types("/stop")
        shown.shows("there is no /stop; there are /calls, /cancel CALL and /help")
        shown.types("how long?")
        shown.shows_line("A minute or so.")

        shown.half_types("never mi")
        shown.presses("C-c", "C-c")
        shown.shows("calls that still run: bash_run_tests (call_tests)")
        shown.shows_line("not sent: never mi")
        (user.folder / "done").touch()
        shown.shows_line("✓ bash_run_tests (call_tests): completed")
        assert shown.done() == 130
        sid = told_sid(shown)

    assert user.types("session", "send", sid, "well?").code == 0
    with screen(user, "session", "resume", sid, "--agent-file", "agent.json") as shown:
        assert shown.done() == 0
        assert shown.lines[-1] == "All tests passed."


def test_forty_messages_typed_while_results_arrive_are_each_heard_once_and_in_order(
    user: Person, stub: StubServer
) -> None:
    def answer(received: Received) -> Say:
        heard = said_by_people(received)
        if len(heard) < len(MESSAGES):
            return Say(
                "", (Call("bash_fake", json.dumps({"mode": "say", "text": f"{len(heard)} heard"})),), pause=0.005
            )
        return Say("I have heard all.")

    stub.program(answer)

    with screen(user, "run", "agent.json", "listen") as shown:
        shown.shows(HINT)
        for message in MESSAGES:
            shown.types(message)
        assert shown.done() == 0
        lines = shown.lines

    assert said_by_people(stub.journal[-1]) == MESSAGES
    assert [line for line in lines if line.startswith("> message")] == [f"> {message}" for message in MESSAGES]
    assert lines[-1] == "I have heard all."
    assert not [line for line in lines if line.startswith(("queued:", "not sent", "kept"))]
    assert not stub.refusals
    assert results_between_messages(stub.journal[-1]) > 1


def said_by_people(received: Received) -> list[str]:
    """The typed messages of a request, in the order in which the model has them."""
    users = (str(message["content"]) for message in received.messages if message["role"] == "user")
    return [found for text in users for found in re.findall(r"message \d\d", text)]


def results_between_messages(received: Received) -> int:
    """How often tool messages stand between two messages of a person."""
    roles = [str(message["role"]) for message in received.messages]
    first, last = roles.index("user"), len(roles) - 1 - roles[::-1].index("user")
    return roles[first:last].count("tool")
