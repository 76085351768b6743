"""`errands flower`: a real Flower shows what runs, to nobody without a login, and no secret."""

import base64
import contextlib
import json
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.desk import a_worker
from tests.acceptance.person import COMMAND, Person, Typed
from tests.acceptance.test_bindings import PLACE, PLANTED, bound_agent
from tests.stub import Call, Say, StubServer
from tests.waiting import eventually

from errands_config.embedded import EmbeddedStore
from errands_config.settings import Settings
from errands_config.store import plain
from errands_workers.app import make_app

STORE_PASSWORD, ARGUMENT = "st0re-passw0rd", "swordfish"
REVEALING = """#!/bin/sh
[ "$1" = describe ] && echo '{"slug": "reveal", "args": [
  {"name": "token", "mode": "env"}, {"name": "place", "mode": "env"}, {"name": "word", "mode": "positional"}]}' && exit
echo "no-$(echo result) $token $place $2"
echo "no-$(echo error) $token $place $2" >&2
[ "$2" = swordfish ]
"""


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@dataclass(frozen=True)
class Flower:
    """A Flower that runs."""

    person: Person
    typed: Typed
    port: int

    @property
    def login(self) -> str:
        words = self.typed.err.split()
        return f"{words[words.index('user') + 1].rstrip(',')}:{words[words.index('password') + 1]}"

    def answers(self, path: str, login: str = "", data: bytes | None = None) -> tuple[int, str]:
        """Ask for a page; its status and text. The status is 0 while nobody listens."""
        headers = {"Authorization": f"Basic {base64.b64encode(login.encode()).decode()}"} if login else {}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, headers)
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, refused.read().decode()
        except OSError:
            return 0, ""


@pytest.fixture(scope="module")
def flower(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flower]:
    """One on a store with a password and a Unix socket, with a worker, in a folder whose flowerconfig.py opens all."""
    folder, port = tmp_path_factory.mktemp("flower"), free_port()
    (folder / "flowerconfig.py").write_text("basic_auth = ['any:body']\nread_only = False\n")
    with EmbeddedStore(folder / "home") as store, plain(Settings(redis_url=store.url)) as client:
        client.config_set("requirepass", STORE_PASSWORD)
        settings = Settings(redis_url=store.url.replace("unix://", f"unix://:{STORE_PASSWORD}@"))
        person = Person.at(folder).with_store(settings)
        with a_worker(settings, folder / "worker.log"):
            flower = Flower(person, person.begins("flower", "--port", str(port)), port)
            eventually(lambda: flower.answers("/healthcheck")[0] == 200, within=30, saying=flower.typed.err)
            yield flower
            flower.typed.press_ctrl_c()
            assert flower.typed.done().code == 0
            assert flower.answers("/healthcheck")[0] == 0
        client.config_set("requirepass", "")  # so that its server can be stopped


def test_nobody_gets_in_without_the_login_that_is_told(flower: Flower) -> None:
    statuses = [flower.answers("/api/tasks", login)[0] for login in ("", "errands:wrong", "any:body", flower.login)]

    assert statuses == [401, 401, 401, 200]
    assert flower.typed.err.count(flower.login.partition(":")[2]) == 1


def test_a_call_is_shown_by_the_name_of_its_tool_and_without_what_it_is_about(flower: Flower) -> None:
    def shown() -> str:
        """All tasks, once a call is among them that Flower has seen from its beginning."""
        called = flower.person.types("tools", "call", "bash_fake", "--args", f'{{"mode": "say", "text": "{ARGUMENT}"}}')
        assert called.out == f"{ARGUMENT}\n", called.err
        tasks = flower.answers("/api/tasks", flower.login)[1]
        return tasks if "tool.bash_fake" in tasks and "SUCCESS" in tasks else ""

    tasks = eventually(shown, within=30, saying="Flower has switched the events on, and shows a call")

    # of a call that ran while the events were switched on, Flower knows the end without the name
    task = next(task for task in json.loads(tasks).values() if task["name"])
    assert task["name"] == "tool.bash_fake"
    assert task["kwargs"].startswith("session=")
    assert ARGUMENT not in tasks


def test_no_page_shows_a_secret_an_argument_a_bound_value_or_a_result(flower: Flower, stub: StubServer) -> None:
    settings = Settings(redis_url=flower.person.environment["ERRANDS_REDIS_URL"])
    agent = revealing_agent(flower.person.folder / "bound")
    secrets = str(agent.parent / "secrets.json")
    words = (str(agent), "--queues", "bound", "--slots", "1")
    # one call that says it all and completes, and one that says it all and fails
    calls = (Call("bash_reveal", f'{{"word":"{ARGUMENT}"}}'), Call("bash_reveal", f'{{"word":"no-{ARGUMENT}"}}'))
    stub.program([Say("", calls[:1]), Say("", calls[1:]), Say("no-answer")])

    with a_worker(settings, agent.parent / "log", *words, default_tools=False, ERRANDS_SECRETS_FILE=secrets):
        eventually(lambda: len(make_app(settings).control.enable_events(reply=True)) == 2, saying="events are on")
        done = flower.person.with_model(stub).types("run", str(agent), "no-prompt", "--set", f"place={PLACE}")
        assert done.code == 0, done.err
        tasks = eventually(lambda: both_ends(flower), within=30, saying="Flower has seen both calls to their ends")
        worker = urllib.parse.quote(next(iter(tasks.values()))["worker"])
        pages = {path: flower.answers(path, flower.login) for path in paths_of(tasks, worker)}

    told = [str(message["content"]) for message in stub.journal[-1].messages if message["role"] == "tool"]
    assert told[0] == f"no-result [secret KEY] {PLACE} {ARGUMENT}"
    assert f"no-error [secret KEY] {PLACE} no-{ARGUMENT}" in told[1]
    assert {path: status for path, (status, _) in pages.items() if status != 200} == {}
    assert all("tool.bash_reveal" in page for path, (_, page) in pages.items() if "task" in path and path != "/tasks")
    planted = (PLANTED, PLACE, ARGUMENT, "no-result", "no-error", "no-prompt", "no-answer", STORE_PASSWORD)
    found = [(path, word) for path, (_, page) in pages.items() for word in planted if word in page]
    assert found == []
    assert [word for word in planted if word in flower.typed.err + flower.typed.out] == []


def revealing_agent(folder: Path) -> Path:
    """An agent whose only tool prints its secret, what else is bound and its argument, on a queue of its own."""
    policy = {"default": {"tag": "runAsync", "queue": "bound"}}
    toolbox = [{"tag": "SingleTool", "contents": {"Path": "reveal"}}]
    agent = bound_agent(folder, functionToolboxes=[], bashToolboxes=toolbox, toolCallPolicyConfig=policy)
    (folder / "reveal").write_text(REVEALING)
    (folder / "reveal").chmod(0o755)
    return agent


def both_ends(flower: Flower) -> dict[str, Any]:
    """The tasks of the tool that reveals, once one is known to have completed and one to have failed."""
    tasks: dict[str, Any] = json.loads(flower.answers("/api/tasks", flower.login)[1])
    ours = {tid: task for tid, task in tasks.items() if task["name"] == "tool.bash_reveal"}
    return ours if {task["state"] for task in ours.values()} == {"SUCCESS", "FAILURE"} else {}


def paths_of(tasks: dict[str, Any], worker: str) -> list[str]:
    """Every page and every answer of the API that tells something of tasks and workers."""
    table = "draw=1&start=0&length=100&search[value]=&order[0][column]=0&order[0][dir]=asc&columns[0][data]=name"
    general = ["/", "/workers", "/tasks", "/broker", "/metrics", "/api/workers?refresh=1", "/api/queues/length"]
    general += [f"/worker/{worker}", f"/tasks/datatable?{table}", "/api/tasks", "/api/task/types"]
    return [*general, *(f"{page}/{tid}" for page in ("/task", "/api/task/info") for tid in tasks)]


def test_nothing_can_be_changed(flower: Flower) -> None:
    for path in ("/api/task/send-task/tool.bash_fake", "/api/worker/shutdown/any", "/api/task/revoke/any"):
        assert flower.answers(path, flower.login, data=b"{}") == (403, "Read only mode is enabled")


def test_no_password_of_the_store_stands_on_a_page_or_in_a_log(flower: Flower) -> None:
    def workers() -> str:
        told = flower.answers("/api/workers?refresh=1", flower.login)[1]
        return told if "broker" in told else ""

    told = eventually(workers, within=20, saying="the worker has told about itself")
    name = next(iter(json.loads(told)))
    pages = [told, *(flower.answers(path, flower.login)[1] for path in ("/broker", "/workers", f"/worker/{name}"))]

    assert all("valkey.sock" in page for page in (told, pages[1], pages[3]))
    assert STORE_PASSWORD not in "".join([*pages, flower.typed.err, flower.typed.out])


def test_no_password_stands_in_a_command_line(flower: Flower) -> None:
    lines: list[bytes] = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            lines.append(path.read_bytes())

    ours = [line for line in lines if f"--port={flower.port}".encode() in line]
    assert len(ours) == 1
    assert flower.login.partition(":")[2].encode() not in b"".join(lines)


def test_a_port_that_is_taken_is_told(flower: Flower) -> None:
    done = flower.person.types("flower", "--port", str(flower.port))

    assert done.code == 5
    assert "name another --port" in done.err


def test_it_takes_a_login_from_its_variable_further_options_and_the_embedded_store(person: Person) -> None:
    port = free_port()
    person = person.having(FLOWER_BASIC_AUTH="me:mine")
    typed = person.begins("flower", "--port", str(port), "--", "--url-prefix=below")
    flower = Flower(person, typed, port)

    eventually(lambda: flower.answers("/below/api/tasks", "me:mine")[0] == 200, within=30, saying=typed.err)

    assert "password" not in typed.err
    assert "valkey.sock" in flower.answers("/below/broker", "me:mine")[1]
    typed.process.send_signal(signal.SIGTERM)
    assert typed.done().code == 0


@pytest.mark.parametrize(
    ("words", "environment", "code", "says"),
    [
        (["--", "--basic_auth=me:mine"], {}, 2, "FLOWER_BASIC_AUTH"),
        (["--", "--cookie-secret=x"], {}, 2, "FLOWER_COOKIE_SECRET"),
        (["verbose"], {}, 2, "'verbose' is no option of Flower"),
        (["--port", "0"], {}, 2, "--port"),
        ([], {"FLOWER_BASIC_AUTH": "me"}, 3, "user:password"),
        (["--port", "47015"], {"ERRANDS_REDIS_URL": "redis://127.0.0.1:1/0"}, 7, "is not reachable"),
    ],
)
def test_what_cannot_be_is_told(
    person: Person, words: list[str], environment: dict[str, str], code: int, says: str
) -> None:
    done = person.having(**environment).types("flower", *words)

    assert done.code == code
    assert says in done.err


def test_where_flower_is_not_installed_it_is_told_how_to_get_it() -> None:
    without = f"import sys; sys.modules['flower'] = None\n{COMMAND[-1]}"

    done = subprocess.run([sys.executable, "-c", without, "flower"], capture_output=True, text=True, check=False)

    assert done.returncode == 3
    assert "pip install 'errands[flower]'" in done.stderr
