"""The Python examples, run as their README says."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import shutil
import subprocess
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.desk import a_store, a_worker
from tests.acceptance.person import Person
from tests.integration.errand import call, calls, orchestrating
from tests.stub import Call, Say, Status, StubServer

from errands_orchestrator.models.model import Reply
from errands_orchestrator.models.seen import SeenMessage

EXAMPLES = Path(__file__).parents[2] / "examples" / "python"
QUESTION = "How many words has: to be?"


def example(person: Person, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], cwd=person.folder, env=person.environment, capture_output=True, text=True, timeout=60
    )


def test_running_an_agent_prints_its_answer_alone(person: Person, stub: StubServer) -> None:
    stub.program([Say(calls=(Call("count_words", '{"text": "to be", "seconds": 0}'),)), Say("It has 2 words.")])

    done = example(person.with_model(stub), str(EXAMPLES / "run_agent.py"), QUESTION)

    assert (done.stdout, done.returncode) == ("It has 2 words.\n", 0), done.stderr
    assert stub.journal[1].messages[-1]["content"] == "2 words"


def test_a_run_that_stands_still_says_how_to_go_on(person: Person, stub: StubServer) -> None:
    stub.program([Status(401)])

    done = example(person.with_model(stub), str(EXAMPLES / "run_agent.py"), QUESTION)

    assert (done.stdout, done.returncode) == ("", 8)
    assert "endpoint refused the key" in done.stderr
    assert "errands session resume" in done.stderr


def test_the_tests_of_an_agent_pass_where_there_is_neither_key_nor_network(person: Person) -> None:
    for file in EXAMPLES.iterdir():
        if file.is_file():
            shutil.copy(file, person.folder)

    done = example(
        person, "-m", "pytest", "-q", "-W", "error", "-p", "no:asyncio", "-p", "no:cacheprovider", "test_agent.py"
    )

    assert "3 passed" in done.stdout, done.stdout + done.stderr


# ---- the web application, without a web server


class Browser:
    """Speaks ASGI to an application."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def post(self, path: str, text: str) -> tuple[int, str]:
        sent: list[dict[str, Any]] = []

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await self.app(http("POST", path), receiving({"type": "http.request", "body": text.encode()}), send)
        return sent[0]["status"], sent[1]["body"].decode()

    async def events(self, path: str, last: str = "", until: str = "run.ended") -> list[dict[str, str]]:
        """The server-sent events of a page, up to one of a kind."""
        told: list[dict[str, str]] = []
        over = asyncio.Event()

        async def send(message: dict[str, Any]) -> None:
            if lines := message.get("body", b"").decode().splitlines():
                told.append(dict(line.split(": ", 1) for line in lines if line))
                if told[-1]["event"] == until:
                    over.set()

        headers = [(b"last-event-id", last.encode())] if last else []
        page = asyncio.create_task(self.app(http("GET", path, headers), receiving(), send))
        await asyncio.wait_for(over.wait(), 20)
        page.cancel()  # as a server does when the browser leaves
        await asyncio.gather(page, return_exceptions=True)
        return told


def http(method: str, path: str, headers: Sequence[tuple[bytes, bytes]] = ()) -> dict[str, Any]:
    return {"type": "http", "method": method, "path": path, "headers": headers}


def receiving(*messages: dict[str, Any]) -> Any:
    left = list(messages)

    async def receive() -> dict[str, Any]:
        return left.pop(0)

    return receive


@asynccontextmanager
async def lived(app: Any) -> AsyncGenerator[Browser]:
    """The application from its server's start to its end."""
    leaving, started = asyncio.Event(), asyncio.Event()
    asked: list[dict[str, str]] = []

    async def receive() -> dict[str, str]:
        asked.append({"type": "lifespan.shutdown" if asked else "lifespan.startup"})
        if len(asked) > 1:
            await leaving.wait()
        return asked[-1]

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "lifespan.startup.complete":
            started.set()

    life = asyncio.create_task(app({"type": "lifespan"}, receive, send))
    await asyncio.wait_for(started.wait(), 10)
    try:
        yield Browser(app)
    finally:
        leaving.set()
        await life


def the_app() -> Any:
    spec = importlib.util.spec_from_file_location("web_app", EXAMPLES / "web_app.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.app


def librarian(messages: Sequence[SeenMessage]) -> Reply:
    if messages[-1].role == "user":
        return calls(call("count_words", text=messages[-1].text, seconds=0.1))
    return Reply(f"It has {messages[-1].text}.")


async def test_the_web_application_sends_and_follows_and_goes_on_after_a_lost_connection(
    tmp_path: Path, clean_environment: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker_words = (str(EXAMPLES / "agent.json"), "--slots", "1")
    with (
        a_store(tmp_path / "home") as settings,
        a_worker(settings, tmp_path / "log", *worker_words, default_tools=False),
    ):
        monkeypatch.setenv("ERRANDS_REDIS_URL", settings.redis_url or "")
        async with orchestrating(settings, librarian), lived(the_app()) as browser:
            await talks(browser)


async def talks(browser: Browser) -> None:
    status, session = await browser.post("/sessions", "to be")
    assert status == 201

    whole = await browser.events(f"/sessions/{session}/events")
    kinds = [event["event"] for event in whole]
    assert kinds[0] == "run.started"
    assert "tool_call.completed" in kinds
    assert json.loads(whole[-1]["data"])["status"] == "completed"

    assert (await browser.post(f"/sessions/{session}/messages", "or not to be"))[0] == 202
    rest = await browser.events(f"/sessions/{session}/events", last=whole[-1]["id"])
    assert rest[0]["event"] == "run.started"
    assert not {event["id"] for event in rest} & {event["id"] for event in whole}
    assert (await browser.post("/sessions/none/messages", "hello"))[0] == 404
    assert (await browser.post("/elsewhere", "hello"))[0] == 404


def test_no_example_is_left_out() -> None:
    tried = {"run_agent.py", "test_agent.py", "web_app.py", "librarian_tools.py", "agent.json", "README.md"}

    assert {path.name for path in EXAMPLES.iterdir() if path.is_file()} == tried
