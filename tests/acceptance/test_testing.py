"""What `errands_orchestrator.testing` gives to those who test agents: real parts, no key, and nothing left behind."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path

import pytest
from pydantic import SecretStr
from tests.acceptance.person import Person
from tests.stub import StubServer

from errands_config.errors import ConfigError
from errands_orchestrator import RunPaused
from errands_orchestrator.models.chat import chat_model
from errands_orchestrator.testing import FunctionModel, ModelCall, Reply, SeenMessage, errands, scripted_model

TOOLS = '''"""Two tools."""
from errands_workers import ToolContext, tool

@tool
def double(number: int) -> int:
    """Double a number."""
    return 2 * number

@tool
def dawdle(ctx: ToolContext) -> str:
    """Take a minute."""
    ctx.sleep(60)
    return "done"
'''


@pytest.fixture
def agent(tmp_path: Path, clean_environment: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An agent with tools; temporary folders are made in `tmp_path`."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "some_tools.py").write_text(TOOLS)
    return write(
        tmp_path / "agent.json",
        executionMode="asynchronous",
        functionToolboxes=[{"tag": "Module", "contents": {"Module": "some_tools"}}],
        toolCallPolicyConfig={"default": {"tag": "runAsync", "attachSeconds": 5}},
    )


def write(file: Path, **more: object) -> Path:
    file.write_text(json.dumps({"slug": "tester", **more}))
    return file


def calling(tool: str, arguments: str = "{}") -> FunctionModel:
    """A model that calls a tool, unless it is greeted, and says what came of it."""

    def answer(messages: Sequence[SeenMessage]) -> Reply:
        last = messages[-1]
        if last.role == "tool" or last.text == "hello":
            return Reply(last.text)
        return Reply("", (ModelCall("c", tool, arguments),))

    return FunctionModel(answer)


def left_of(folder: Path) -> list[str]:
    """What there is of a test's deployment below this folder: its files, and the processes that know of them."""
    found = [str(path) for path in folder.glob("errands-*")]
    for process in Path("/proc").glob("[0-9]*"):
        try:
            told = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
        except OSError:
            continue
        if f"{folder}/errands-".encode() in told and process.name != str(os.getpid()):
            found.append(told.replace(b"\0", b" ").decode(errors="replace")[:200])
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
async def test_an_agent_is_tested_on_real_parts_of_which_nothing_is_left(
    agent: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ERRANDS_REDIS_URL", "redis://127.0.0.1:1/0")  # somebody's deployment: it is left alone

    async with errands(agent, calling("double", '{"number": 21}')) as tested:
        assert await tested.run("go") == "42"
        assert await tested.run("go") == "42"
        assert await tested.client.call_tool("double", {"number": 4}) == 4 * 2
        assert left_of(tmp_path)

    assert left_of(tmp_path) == []


def deferring(agent: Path) -> Path:
    """The same agent, but somebody outside decides about its calls."""
    policy = {"default": {"tag": "defer", "reason": "a person decides"}}
    more = {"executionMode": "asynchronous", "toolCallPolicyConfig": policy}
    agent.write_text(json.dumps(json.loads(agent.read_text()) | more))
    return agent


async def test_a_test_gives_leave_for_a_call_as_somebody_outside_would(agent: Path) -> None:
    async with errands(deferring(agent), calling("double", '{"number": 21}')) as tested:
        run = await tested.run_until_blocked("go")
        await tested.client.approve(run.pending[0].token)
        assert await tested.client.resume(run.session) == "42"
        await tested.run_until_blocked("go")  # what nobody answers does not outlive the test


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
async def test_a_test_that_fails_while_a_call_runs_leaves_nothing_either(agent: Path, tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        await fail_while_a_call_runs(agent)

    assert left_of(tmp_path) == []


async def fail_while_a_call_runs(agent: Path) -> None:
    async with errands(agent, calling("dawdle")) as tested:
        session = (await tested.run_until_blocked("hello")).session
        await tested.client.send(session, "dawdle")
        running = asyncio.create_task(tested.client.resume(session))
        async with aclosing(tested.client.events(session)) as events:
            async for event in events:
                if event.kind == "tool_call.started":
                    running.cancel()
                    raise ZeroDivisionError


async def test_a_real_model_is_not_asked(tmp_path: Path, clean_environment: None) -> None:
    real = chat_model(url="http://127.0.0.1:1/v1", key=SecretStr("a-real-key"))

    async with errands(write(tmp_path / "agent.json"), real) as tested:
        with pytest.raises(RunPaused, match="real model requests are forbidden"):
            await tested.run("go")


async def test_an_agent_that_asks_a_real_model_wants_another_for_the_test(
    tmp_path: Path, clean_environment: None
) -> None:
    with pytest.raises(ConfigError, match="give a model"):
        async with errands(write(tmp_path / "agent.json")):
            pass


async def test_a_scripted_agent_speaks_for_itself(tmp_path: Path, clean_environment: None) -> None:
    (tmp_path / "script.json").write_text('[{"say": "By heart."}]')
    agent = write(tmp_path / "agent.json", flavor="Scripted", modelUrl="script.json")

    async with errands(agent) as tested:
        assert await tested.run("go") == "By heart."
    async with errands(agent, scripted_model('[{"say": "Another."}]')) as tested:
        assert await tested.run("go") == "Another."


async def test_a_key_that_the_agent_names_need_not_exist(tmp_path: Path, clean_environment: None) -> None:
    async with errands(write(tmp_path / "agent.json", apiKeyId="team"), scripted_model('[{"say": "Hi."}]')) as tested:
        assert await tested.run("go") == "Hi."


async def test_a_broker_of_somebodys_deployment_is_refused(
    tmp_path: Path, clean_environment: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ERRANDS_BROKER_URL", "amqp://somewhere")

    with pytest.raises(ConfigError, match="ERRANDS_BROKER_URL"):
        async with errands(write(tmp_path / "agent.json"), scripted_model("[]")):
            pass


def test_a_process_that_may_not_ask_a_model_says_so(person: Person, stub: StubServer) -> None:
    write(person.folder / "agent.json")

    done = person.with_model(stub).having(ERRANDS_FORBID_REQUESTS="1").types("run", "agent.json", "hello")

    assert done.code == 8
    assert "real model requests are forbidden" in done.err
    assert stub.journal == []


def test_a_request_that_the_real_api_would_refuse_fails_the_test_that_sent_it(person: Person) -> None:
    (person.folder / "test_it.py").write_text(
        "import asyncio\n"
        "from errands_orchestrator.models.model import ModelRequest\n"
        "from errands_orchestrator.testing import Say, strict_model\n"
        "def ask(strict_model, messages):\n"
        "    strict_model.program([Say('hello')])\n"
        "    try:\n"
        "        asyncio.run(strict_model.model().reply(ModelRequest('m', messages)))\n"
        "    except Exception:\n"
        "        pass\n"
        "def test_good(strict_model):\n"
        '    ask(strict_model, b\'[{"role": "user", "content": "hello"}]\')\n'
        "def test_bad(strict_model):\n"
        '    ask(strict_model, b\'[{"role": "tool", "content": "x", "tool_call_id": "a"}]\')\n'
    )

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"],
        cwd=person.folder, env=person.environment, capture_output=True, text=True, timeout=60,
    )  # fmt: skip

    assert "2 passed, 1 error" in done.stdout, done.stdout + done.stderr
    assert "the real API would have refused" in done.stdout
