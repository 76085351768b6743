"""Bound arguments on a real worker: the tool gets them, and nothing and nobody else sees a secret."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from tests.acceptance.desk import Desk, Worker, a_store, a_worker
from tests.tools.hook_scripts import write_hooks

from errands_config import keys
from errands_config.stored_agent import StoredAgent
from errands_config.wire import After, Around, Before, Bound, CallState, Hook

SECRET = 'sword"fish-4711'
AROUND: tuple[Around, ...] = (
    Before(hook=Hook(kind="command", name="record")),
    After(hook=Hook(kind="tool", name="judge")),
)
AGENT = {
    "slug": "desk",
    "bindings": [
        {"arg": "text", "value": {"secret": "TOKEN"}},
        {"arg": "mode", "value": {"secret": "TOKEN"}},
        {"arg": "a", "value": {"secret": "TOKEN"}},
        {"arg": "text", "value": {"secret": "MISSING"}},
        {"arg": "text", "value": {"tag": "Literal", "contents": "plain"}},
        {"arg": "number", "value": {"secret": "TOKEN"}},
    ],
}


@pytest.fixture(scope="module")
def bound_worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    folder = tmp_path_factory.mktemp("bound")
    secrets = folder / "secrets.json"
    secrets.write_text(json.dumps({"TOKEN": SECRET}))
    secrets.chmod(0o600)
    words = ("--slots", "1", "--module", "tests.tools.wrapped", "--hooks", str(write_hooks(folder / "hooks")))
    with (
        a_store(folder / "home") as settings,
        a_worker(settings, folder / "log", *words, ERRANDS_SECRETS_FILE=str(secrets)) as worker,
    ):
        yield worker


@pytest.fixture
def desk(bound_worker: Worker) -> Desk:
    desk = Desk(bound_worker.store)
    agent = StoredAgent(file=json.dumps(AGENT))
    desk.store.set(keys.agent(agent.digest), agent.text)
    desk.store.hset(keys.session(desk.sid), "agent", agent.digest)
    return desk


def test_a_secret_reaches_a_script_and_leaves_it_in_no_result_progress_or_notify(desk: Desk, bound_worker: Worker):
    cid = desk.call("bash_fake", mode="environment", around=AROUND, bound=(Bound(arg="text", binding=0),))
    outcome = desk.end(cid)
    assert "text=[secret TOKEN]" in outcome.result
    assert "[hook note: bash_fake completed" in outcome.result
    _nowhere(bound_worker)


def test_a_secret_reaches_a_function_and_hooks_see_nothing_of_it(desk: Desk, bound_worker: Worker, tmp_path: Path):
    path = tmp_path / "trace"
    cid = desk.call("leave_trace", path=str(path), text="sent", around=AROUND, bound=(Bound(arg="text", binding=0),))
    note = "[hook note: leave_trace completed [secret TOKEN] desk]"
    assert desk.end(cid).result == f"[secret TOKEN]\n\n{note}"
    assert path.read_text() == f"{SECRET}\n"
    seen = json.loads((bound_worker.log.parent / "hooks" / f"seen-{cid}").read_text())
    assert seen["arguments"] == {"path": str(path), "text": "sent"}
    _nowhere(bound_worker)


def test_a_plain_value_wins_over_what_the_model_sent_and_is_not_cut_out(desk: Desk, tmp_path: Path):
    bound = (Bound(arg="text", binding=4),)
    assert desk.end(desk.call("leave_trace", path=str(tmp_path / "trace"), text="x", bound=bound)).result == "plain"


def test_a_secret_is_refused_where_it_would_stand_on_a_command_line(desk: Desk, bound_worker: Worker):
    outcome = desk.end(desk.call("bash_fake", bound=(Bound(arg="mode", binding=1),)))
    assert outcome.state == CallState.FAILED
    assert outcome.error.startswith("mode: a secret on the command line of bash_fake could be read by everybody")
    _nowhere(bound_worker)


def test_a_secret_that_the_tool_refuses_is_not_told(desk: Desk, bound_worker: Worker):
    outcome = desk.end(desk.call("add", b=1, bound=(Bound(arg="a", binding=2),)))
    assert (outcome.state, outcome.error_kind) == (CallState.FAILED, "invalid arguments")
    outcome = desk.end(desk.call("bash_fake", mode="say", bound=(Bound(arg="number", binding=5),)))
    assert outcome.error == 'invalid arguments: number: "[secret TOKEN]" is not of type "number"'
    _nowhere(bound_worker)


def test_a_secret_that_the_worker_does_not_have_fails_the_call_and_its_tool_does_not_run(desk: Desk, tmp_path: Path):
    bound = (Bound(arg="text", binding=3),)
    outcome = desk.end(desk.call("leave_trace", path=str(tmp_path / "trace"), bound=bound))
    assert (outcome.state, outcome.error_kind) == (CallState.FAILED, "unbound argument")
    assert "MISSING" in outcome.error
    assert not (tmp_path / "trace").exists()


def test_progress_and_notify_of_a_script_are_without_its_secret(desk: Desk, bound_worker: Worker):
    cid = desk.call("bash_fake", mode="tell_text", bound=(Bound(arg="text", binding=0),))
    assert desk.end(cid).result == "[secret TOKEN]"
    assert {"stream": "stdout", "line": "[secret TOKEN]", "lines": 1, "bytes": len(SECRET) + 1} in desk.progress(cid)
    assert [mail["text"] for mail in desk.mails(cid, "toolCallNotify")] == ["[secret TOKEN]"]
    _nowhere(bound_worker)


def _nowhere(worker: Worker) -> None:
    """Nothing in the store or the log has the secret, as it is or as JSON escapes it."""
    assert _holding(worker.store) == []
    log = worker.log.read_text()
    assert not any(form in log for form in _FORMS)


_FORMS = (SECRET, json.dumps(SECRET)[1:-1], json.dumps(json.dumps(SECRET)[1:-1])[1:-1])


def _holding(store: redis.Redis) -> list[str]:
    names: Any = store.keys("*")
    return [name for name in names if any(form in _content(store, name) for form in _FORMS)]


def _content(store: redis.Redis, name: str) -> str:
    match store.type(name):
        case "string":
            return repr(store.get(name))
        case "hash":
            return repr(store.hgetall(name))
        case "stream":
            return repr(store.xrange(name))
        case "list":
            return repr(store.lrange(name, 0, -1))
        case _:
            return ""
