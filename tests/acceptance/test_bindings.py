"""Bound arguments with a real worker: the tools get them, and nobody else sees them."""

from __future__ import annotations

import base64
import json
import re
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import redis
from tests.acceptance.desk import Worker, a_store, a_worker
from tests.acceptance.person import Here, Person, agent_file
from tests.integration.script_scenes import everything
from tests.stub import Call, Say, StubServer
from tests.waiting import eventually

from errands_config import keys
from errands_config.settings import Settings
from errands_config.store import plain
from errands_workers.app import make_app

PLANTED = "planted-in-a-file"
DEFAULT = 'planted "by default"\n& in two lines'
PLACE, LITERAL = "Llanfairpwll", "literally-this"
SCRIPT = """#!/bin/sh
[ "$1" = describe ] && echo '{"slug": "leak", "args": [
  {"name": "TOKEN", "mode": "env"}, {"name": "how", "mode": "positional"}]}' && exit
echo "out $TOKEN"
echo "err $TOKEN" >&2
printenv TOKEN
[ "$2" = well ]
"""
PARAMETERS = [
    {"name": "place"},
    {"name": "unit", "scope": "message", "required": False},
    {"name": "pass", "secret": True, "default": {"tag": "FileSystem", "contents": "pass.txt"}},
]
BINDINGS: list[dict[str, Any]] = [
    {"arg": "token", "value": {"secret": "KEY"}},
    {"tool": "bash_*", "arg": "TOKEN", "value": {"tag": "Param", "contents": "pass"}},
    {"arg": "place", "value": {"tag": "Param", "contents": "place"}},
    {"tool": "tell", "arg": "unit", "value": {"tag": "Literal", "contents": LITERAL}},
    {"arg": "unit", "value": {"tag": "Param", "contents": "unit"}, "whenUnbound": "expose"},
]


def bound_agent(folder: Path, **more: Any) -> Path:
    """An agent file with its tools, its secret files and its bindings."""
    folder.mkdir(exist_ok=True)
    script = folder / "leak"
    script.write_text(SCRIPT)
    script.chmod(0o755)
    (folder / "pass.txt").write_text(f"{DEFAULT}\n")
    (folder / "secrets.json").write_text(json.dumps({"KEY": PLANTED}))
    (folder / "secrets.json").chmod(0o600)
    written = {
        "slug": "bound",
        "tools": [],
        "functionToolboxes": [{"tag": "Module", "contents": {"Module": "tests.tools.bound"}}],
        "bashToolboxes": [{"tag": "SingleTool", "contents": {"Path": "leak"}}],
        "parameters": PARAMETERS,
        "bindings": BINDINGS,
    }
    return agent_file(folder / "bound.json", **{**written, **more})


@dataclass(frozen=True)
class Scene:
    """A store with a worker that knows the secrets, and the agent file that it was started with."""

    settings: Settings
    worker: Worker
    agent: Path


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    folder = tmp_path_factory.mktemp("bound")
    agent = bound_agent(folder / "agent")
    variables = {"ERRANDS_SECRETS_FILE": str(folder / "agent" / "secrets.json")}
    with (
        a_store(folder / "home") as settings,
        a_worker(settings, folder / "log", str(agent), "--slots", "1", default_tools=False, **variables) as worker,
    ):
        yield Scene(settings, worker, agent)


@pytest.fixture
def somebody(scene: Scene, person: Person, stub: StubServer, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> Here:
    """A person at the scene, who holds no secret."""
    return Here(person.with_store(scene.settings).with_model(stub), monkeypatch, capfd)


@contextmanager
def overheard(settings: Settings) -> Generator[list[str]]:
    """Every command that reaches the store, those of brokers, events and scripts among them."""
    heard: list[str] = []
    with plain(settings) as listening, plain(settings) as speaking, listening.monitor() as monitor:

        def listen() -> None:
            while "enough was heard" not in "".join(heard[-1:]):
                command: Any = monitor.next_command()
                heard.append(command["command"])

        thread = threading.Thread(target=listen)
        thread.start()
        yield heard
        speaking.echo("enough was heard")
        thread.join()


def bodies(heard: list[str]) -> Iterator[str]:
    """What stands encoded in Celery's messages and events."""
    for encoded in re.findall(r'"body": ?"([A-Za-z0-9+/=]+)"', "\n".join(heard)):
        yield base64.b64decode(encoded).decode()


def seen_by_model(stub: StubServer) -> str:
    return "\n".join(received.body.decode() for received in stub.journal)


def listed(stub: StubServer, request: int = 0) -> dict[str, list[str]]:
    """The arguments of the tools that the model was offered."""
    tools: Any = stub.journal[request].request["tools"]
    functions = [
        one["function"] for one in tools if one["function"]["name"] in ("tell", "refuse", "measure", "bash_leak")
    ]
    return {one["name"]: sorted(one["parameters"]["properties"]) for one in functions}


def results(stub: StubServer) -> list[str]:
    """What the model has read of calls, in the order of its newest request."""
    return [str(message["content"]) for message in stub.journal[-1].messages if message["role"] == "tool"]


def records(store: redis.Redis) -> str:
    """All that stands in the records of calls."""
    return repr({key: value for key, value in everything(store).items() if key.startswith(f"{keys.PREFIX}c:")})


SYNC = {"default": {"tag": "runSync"}}


def test_a_planted_secret_reaches_the_tools_and_nobody_else(
    scene: Scene, somebody: Here, stub: StubServer, tmp_path: Path
) -> None:
    calls = (
        Call("tell", '{"text":"hello"}', "c1"),
        Call("refuse", "{}", "c2"),
        Call("bash_leak", '{"how":"well"}', "c3"),
        Call("bash_leak", '{"how":"badly"}', "c4"),
    )
    stub.program([Say("", calls), *([Say("all were heard")] * 8)])
    eventually(lambda: bool(make_app(scene.settings).control.enable_events(reply=True)))

    with overheard(scene.settings) as heard:
        words = ("--set", f"place={PLACE}", "--log-json-file", "log.jsonl", "--json")
        done = somebody.types("run", str(scene.agent), "go", *words)

    assert done.code == 0, done.err
    printed = somebody.types("session", "print", done.json["session_id"], "--show-tool-call-results", "full")
    shown = seen_by_model(stub)
    for length in (len(PLANTED), len(PLACE)):
        assert str(length) in shown  # the tools had the values themselves
    assert "[secret KEY]" in shown
    assert "out [secret pass]" in shown
    assert "401 for [secret KEY]" in shown
    places = {
        "the store": repr(everything(scene.worker.store)),
        "what went to the store": "\n".join([*heard, *bodies(heard)]),
        "the worker's log": scene.worker.log.read_text(),
        "what the model read": shown,
        "what was printed": done.out + done.err + printed.out + printed.err,
        "the log file": (somebody.folder / "log.jsonl").read_text(),
    }
    assert "task-succeeded" in places["what went to the store"]
    assert [place for place, content in places.items() if "planted" in content] == []
    assert [value for value in (PLACE, LITERAL) if value in records(scene.worker.store)] == []


def test_the_model_is_not_shown_what_is_bound(scene: Scene, somebody: Here, stub: StubServer) -> None:
    stub.program([Say("seen"), Say("seen")])

    somebody.types("run", str(scene.agent), "go", "--set", f"place={PLACE}")
    somebody.types("run", str(scene.agent), "go", "--set", f"place={PLACE}", "--set", "unit=km")

    always = {"tell": ["text"], "refuse": [], "bash_leak": ["how"]}
    assert listed(stub, 0) == {**always, "measure": ["unit"]}
    assert listed(stub, 1) == {**always, "measure": []}
    assert PLACE not in seen_by_model(stub)


def test_a_value_that_comes_later_wins_over_the_models(scene: Scene, somebody: Here, stub: StubServer) -> None:
    said = Call("measure", '{"unit":"furlongs"}')
    stub.program([Say("", (said,)), Say("one"), Say("", (said,)), Say("two")])
    agent = bound_agent(somebody.folder / "agent", toolCallPolicyConfig=SYNC)

    sid = somebody.types("run", str(agent), "go", "--set", "place=Rome", "--json").json["session_id"]
    sent = somebody.types("session", "send", sid, "again", "--set", "unit=miles")
    somebody.types("session", "resume", sid)

    assert sent.code == 0, sent.err
    assert results(stub) == ["furlongs 4", "miles 4"]


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ((), 3, "place has no value (it has no default): --set place=VALUE"),
        (("--set", "plaice=x"), 3, 'did you mean "place"?'),
        (("--set", "pass=swordfish"), 3, "parameter pass is secret: workers take it from the file of ERRANDS_SECRETS"),
        (("--set", "place"), 2, "--set wants NAME=VALUE"),
    ],
)
def test_values_that_cannot_be_used_start_no_session(
    words: tuple[str, ...], code: int, says: str, scene: Scene, somebody: Here, stub: StubServer
) -> None:
    stub.program([])
    for command in ("run", "session start"):
        done = somebody.types(*command.split(), str(scene.agent), "go", *words)
        assert (done.code, done.out) == (code, "")
        assert says in done.err
        assert "swordfish" not in done.err


def test_what_is_set_with_a_message_must_be_of_its_scope(scene: Scene, somebody: Here, stub: StubServer) -> None:
    stub.program([])
    sid = somebody.types("session", "start", str(scene.agent), "--set", "place=Rome").out.strip()

    refused = somebody.types("session", "send", sid, "hi", "--set", "place=Lima")

    assert refused.code == 3
    assert 'parameter place is of scope "process"' in refused.err
    assert not scene.worker.store.xlen(keys.mail(sid))


def test_a_missing_secret_fails_the_call_or_leaves_the_argument_out(
    scene: Scene, somebody: Here, stub: StubServer
) -> None:
    missing = {"secret": "NO_SUCH"}
    agent = bound_agent(
        somebody.folder / "agent",
        toolCallPolicyConfig=SYNC,
        bindings=[
            {"tool": "refuse", "arg": "token", "value": missing},
            {"tool": "measure", "arg": "place", "value": missing, "whenUnbound": "omit"},
        ],
    )
    stub.program([Say("", (Call("refuse"), Call("measure"))), Say("seen")])

    done = somebody.types("run", str(agent), "go", "--set", "place=Rome")

    assert done.code == 0, done.err
    assert results(stub)[0].endswith(
        "the bound argument token has no value: secret NO_SUCH is not in this worker's ERRANDS_SECRETS_FILE"
    )
    assert results(stub)[1] == f"none {len('nowhere')}"


def test_hooks_beside_the_agent_file_and_predicates_see_nothing_that_is_bound(
    person: Person, stub: StubServer, tmp_path: Path
) -> None:
    hooks = tmp_path / "agent" / "hooks"
    guarded = [
        {"match": {"args": {"path": "token", "exists": True}}, "decorators": [before("deny")]},
        {"match": {"tool": "tell"}, "decorators": [before("change")]},
    ]
    agent = bound_agent(tmp_path / "agent", toolCallPolicyConfig={**SYNC, "wrappers": guarded})
    hooks.mkdir()
    write_hook(hooks / "deny", f"tee {tmp_path}/denied", {"action": "deny", "message": "no"})
    changed = {"text": "changed", "token": "the hook's"}
    write_hook(hooks / "change", f"tee {tmp_path}/changed", {"action": "continue", "arguments": changed})
    stub.program([Say("", (Call("tell", '{"text":"sent"}'),)), Say("seen")])
    secrets = str(tmp_path / "agent" / "secrets.json")

    done = (
        person.with_model(stub)
        .having(ERRANDS_SECRETS_FILE=secrets, PYTHONPATH=str(Path(__file__).parents[2]))
        .types("run", str(agent), "go", "--set", f"place={PLACE}")
    )

    assert done.code == 0, done.err
    [told] = map(json.loads, results(stub))
    assert (told["text"], told["token"], told["whole"]) == ("changed", "[secret KEY]", len(PLANTED))
    assert not (tmp_path / "denied").exists()
    given = (tmp_path / "changed").read_text()
    assert json.loads(given)["arguments"] == {"text": "sent"}
    kept = [file for file in (person.folder / "home").rglob("*") if file.is_file()]
    assert [file for file in kept if b"planted" in file.read_bytes()] == []


def before(hook: str) -> dict[str, Any]:
    return {"tag": "before", "hook": {"command": f"hooks/{hook}"}}


def write_hook(path: Path, takes: str, answer: object) -> None:
    path.write_text(f"#!/bin/sh\n{takes} > /dev/null\ncat <<'END'\n{json.dumps(answer)}\nEND\n")
    path.chmod(0o755)
