"""What every command prints with --json, run for real and compared with its form."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from cyclopts import App
from pydantic import BaseModel
from tests.acceptance.person import Done, Here, Person, agent_file
from tests.stub import Call, Say, StubServer
from tests.unit.agent_file_texts import SEED_WRAPPERS
from tests.waiting import eventually

from errands_orchestrator.cli.json_forms import FORMS, Form
from errands_orchestrator.cli.root import root


@dataclass(frozen=True)
class Scene:
    """Where the commands are typed."""

    here: Here
    user: Person
    """The same one, for what does not end by itself."""
    stub: StubServer

    def types(self, *words: str) -> Done:
        """Type a command that prints JSON."""
        return self.here.types(*words, "--json")

    def ran(self) -> str:
        """A session whose run called a tool and ended; its id."""
        lines = Call("bash_fake", json.dumps({"mode": "lines"}), "call_1")
        self.stub.program([Say("one moment", (lines,)), *[Say("done")] * 3])
        return self.types("run", "agent.json", "hi").json["session_id"]

    def call(self) -> str:
        """A call that has ended; its id."""
        return self.types("calls", "ls", "--session", self.ran()).json[0]["tool_call_id"]

    def begun(self) -> str:
        """A session with a message that nobody has heard; its id."""
        return self.types("session", "start", "agent.json", "hi").json["session_id"]

    def queued(self) -> str:
        """A session that waits for a call which no worker takes; its id."""
        nobody = json.dumps({"mode": "lines"})
        self.stub.program([Say("", (Call("bash_fake", nobody, "call_1"),))])
        policy = {"default": {"tag": "runAsync", "queue": "nobody", "attachSeconds": 0}}
        agent_file(self.here.folder / "nobody.json", toolCallPolicyConfig=policy)
        return self.types("session", "start", "nobody.json", "hi", "--step").json["session_id"]

    def asking(self) -> Done:
        """A run that waits for leave to call a tool and for the answer to a question."""
        system = {"tag": "SystemToolbox", "contents": {"Name": "s", "Capabilities": ["ask-user"]}}
        policy = {"default": {"tag": "defer", "reason": "a person decides"}}
        agent_file(
            self.here.folder / "asking.json", slug="asking", toolCallPolicyConfig=policy, builtinToolboxes=[system]
        )
        made = (
            Call("bash_fake", json.dumps({"mode": "lines"}), "call_1"),
            Call("ask-user", json.dumps({"question": "Why?"}), "call_2"),
        )
        self.stub.program([Say("I ask.", made)])
        return self.types("run", "asking.json", "hi")

    def token(self, of: int = 0) -> str:
        """The token of one of the two calls of such a run."""
        return self.asking().json["deferred_calls"][of]["continuation_token"]


Scenario = Callable[[Scene], Iterator[Done]]
SCENARIOS: dict[str, Scenario] = {}


def of(command: str) -> Callable[[Scenario], Scenario]:
    def keep(scenario: Scenario) -> Scenario:
        SCENARIOS[command] = scenario
        return scenario

    return keep


@of("agent check")
def _(at: Scene) -> Iterator[Done]:
    yield at.types("agent", "check", "agent.json", "missing.json")


@of("agent explain")
def _(at: Scene) -> Iterator[Done]:
    yield at.types("agent", "explain", "agent.json", "--tool", "bash_fake")
    agent_file(at.here.folder / "guarded.json", toolCallPolicyConfig=SEED_WRAPPERS)
    yield at.types("agent", "explain", "guarded.json", "--tool", "deploy", "--args", '{"env": "production"}')


@of("agent list")
def _(at: Scene) -> Iterator[Done]:
    at.ran()
    yield at.types("agent", "list")


@of("calls cancel")
def _(at: Scene) -> Iterator[Done]:
    sid = at.queued()
    cid = at.types("calls", "ls", "--session", sid).json[0]["tool_call_id"]
    yield at.types("calls", "cancel", "--session", sid, "--dry-run")
    yield at.types("calls", "cancel", cid)
    yield at.types("calls", "cancel", cid, at.call())


@of("calls logs")
def _(at: Scene) -> Iterator[Done]:
    yield at.types("calls", "logs", at.call())


@of("calls ls")
def _(at: Scene) -> Iterator[Done]:
    yield at.types("calls", "ls", "--session", at.ran())
    yield at.types("calls", "ls", "--session", at.queued())


@of("calls show")
def _(at: Scene) -> Iterator[Done]:
    cid = at.call()
    yield at.types("calls", "show", cid)
    [waiting] = at.types("calls", "ls", "--session", at.queued()).json
    yield at.types("calls", "show", waiting["tool_call_id"])
    at.types("calls", "cancel", waiting["tool_call_id"])
    yield at.types("calls", "show", waiting["tool_call_id"])


@of("doctor")
def _(at: Scene) -> Iterator[Done]:
    yield at.types("doctor")


@of("run")
def _(at: Scene) -> Iterator[Done]:
    at.stub.program([Say("done")])
    yield at.types("run", "agent.json", "hi")
    yield at.asking()


@of("session answer")
def _(at: Scene) -> Iterator[Done]:
    yield at.types("session", "answer", at.token(1), "because")


@of("session approve")
def _(at: Scene) -> Iterator[Done]:
    yield at.types("session", "approve", at.token())


@of("session cancel")
def _(at: Scene) -> Iterator[Done]:
    yield at.types("session", "cancel", at.queued())


@of("session complete")
def _(at: Scene) -> Iterator[Done]:
    (at.here.folder / "result").write_text("done")
    yield at.types("session", "complete", at.token(), "result")


@of("session deny")
def _(at: Scene) -> Iterator[Done]:
    yield at.types("session", "deny", at.token(), "no")


@of("session export")
def _(at: Scene) -> Iterator[Done]:
    yield at.types("session", "export", at.ran())


@of("session fail")
def _(at: Scene) -> Iterator[Done]:
    yield at.types("session", "fail", at.token(), "no such host")


@of("session list")
def _(at: Scene) -> Iterator[Done]:
    at.ran()
    at.asking()
    yield at.types("session", "list")


@of("session pause")
def _(at: Scene) -> Iterator[Done]:
    yield at.types("session", "pause", at.begun())


@of("session pending")
def _(at: Scene) -> Iterator[Done]:
    sid = at.asking().json["session_id"]
    yield at.types("session", "pending", sid)
    yield at.types("session", "pending", sid, "--show-tokens")


@of("session print")
def _(at: Scene) -> Iterator[Done]:
    yield at.types("session", "print", at.ran())


@of("session resume")
def _(at: Scene) -> Iterator[Done]:
    yield at.types("session", "resume", at.ran())
    yield at.types("session", "resume", at.asking().json["session_id"])


@of("session send")
def _(at: Scene) -> Iterator[Done]:
    yield at.types("session", "send", at.begun(), "and more")


@of("session start")
def _(at: Scene) -> Iterator[Done]:
    yield at.types("session", "start", "agent.json", "hi")
    at.stub.program([Say("done")])
    yield at.types("session", "start", "agent.json", "hi", "--step")


@of("session step")
def _(at: Scene) -> Iterator[Done]:
    sid = at.begun()
    at.stub.program([Say("done")])
    yield at.types("session", "step", sid)


@of("tools call")
def _(at: Scene) -> Iterator[Done]:
    yield at.types("tools", "call", "bash_fake", "--args", '{"mode": "lines"}')
    yield at.types("tools", "call", "bash_fake", "--args", "{}")


@of("tools list")
def _(at: Scene) -> Iterator[Done]:
    yield at.types("tools", "list")


@of("up")
def _(at: Scene) -> Iterator[Done]:
    typed = at.user.begins("up", "--agent-file", "agent.json", "--json")
    eventually(lambda: '"workers"' in typed.out, within=30, saying="a status is told")
    typed.press_ctrl_c()
    yield typed.done()


# ---- what is compared


def commands(app: App, words: tuple[str, ...] = ()) -> Iterator[tuple[str, App]]:
    """Every command that does something, by its words."""
    for name in app:
        if not name.startswith("-"):
            yield from commands(app[name], (*words, name))
    if words and app.default_command is not None:
        yield " ".join(words), app


def takes_json(app: App) -> bool:
    return any("--json" in argument.names for argument in app.assemble_argument_collection())


def test_every_command_that_prints_json_has_a_form_and_is_run_here() -> None:
    printing = {words for words, app in commands(root) if takes_json(app)}

    assert printing >= {"run", "calls ls", "session list"}
    assert printing == set(FORMS) == set(SCENARIOS)


@pytest.fixture
def scene(here: Here, user: Person, stub: StubServer) -> Iterator[Scene]:
    """Nothing of it is left waiting in the store that all tests share."""
    yield Scene(here, user, stub)
    assert here.types("calls", "cancel", "--state", "queued", "--yes").code == 0


@pytest.mark.parametrize("command", sorted(SCENARIOS))
def test_a_command_prints_exactly_its_form(scene: Scene, command: str) -> None:
    documents = [one for done in SCENARIOS[command](scene) for one in printed(done, FORMS[command])]

    assert documents
    for document in documents:
        read = FORMS[command].adapter.validate_python(document, strict=False)
        assert json.dumps(dumped(read)) == json.dumps(document)  # names, order and nulls


def printed(done: Done, form: Form) -> list[Any]:
    assert "Traceback" not in done.err
    lines = done.out.splitlines()
    assert form.lines or len(lines) == 1
    return [json.loads(line) for line in lines]


def dumped(read: object) -> Any:
    """As JSON would have it; what a form may leave out is left out where it was not set."""
    if isinstance(read, list):
        return [dumped(one) for one in read]
    assert isinstance(read, BaseModel)
    return read.model_dump(mode="json", exclude_unset=True)


@pytest.mark.parametrize("command", sorted(FORMS))
def test_the_form_of_a_command_is_printed_as_a_json_schema(here: Here, command: str) -> None:
    assert here.types("schema", *command.split()).json.keys() & {"type", "anyOf", "oneOf"}


def test_the_commands_that_have_a_form_are_listed(here: Here) -> None:
    assert here.types("schema").out.split("\n")[:-1] == list(FORMS)


def test_a_command_without_a_form_is_named(here: Here) -> None:
    done = here.types("schema", "worker")

    assert (done.code, "no command 'worker' prints JSON" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("run", "session_id status answer"),
        ("session list", "session_id agent status created_at updated_at running_calls"),
        (
            "calls ls",
            "tool_call_id provider_call_id task_handle session_id tool status attempt label worker queued_at "
            "started_at completed_at",
        ),
        (
            "session pending",
            "tool_call_id provider_call_id task_handle session_id tool status attempt label worker queued_at "
            "started_at completed_at reason expires_at kind deferred_at arguments continuation_token",
        ),
    ],
)
def test_the_names_that_the_contract_gives_are_those_of_the_forms(command: str, names: str) -> None:
    schema = FORMS[command].adapter.json_schema()
    first = schema["anyOf"][0] if "anyOf" in schema else schema.get("items", schema)
    fields = schema["$defs"][first["$ref"].split("/")[-1]] if "$ref" in first else first

    assert list(fields["properties"]) == names.split()
