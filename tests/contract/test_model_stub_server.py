"""The stub as a server and as a process: what it notes, whom it refuses, and what its script can say."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr
from tests.stub import STUB_KEY, Hold, Say, StubServer
from tests.waiting import eventually

from errands_config.errors import ModelError
from errands_orchestrator.models import Model, ModelRequest, chat_model
from errands_orchestrator.testing.strict.script import answers_from

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def ask_for(*texts: str) -> ModelRequest:
    roles = ("user", "assistant")
    messages = [{"role": roles[position % 2], "content": text} for position, text in enumerate(texts)]
    return ModelRequest("m", json.dumps(messages).encode())


async def test_a_script_answers_in_both_dialects(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text('[{"say":"first"},{"when":"is done","say":"it is done"},{"when":"","say":"I wait"}]')
    made = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
    told = {"type": "function_call_output", "call_id": "a", "output": "a is done"}
    begun = [{"role": "user", "content": "go"}]
    with StubServer(answers_from(script)) as stub:
        chat, items = stub.model(), stub.responses_model()
        said = [await outcome(model, ModelRequest("m", json.dumps(begun).encode())) for model in (chat, items)]
        asked = json.dumps([*begun, {"role": "assistant", "content": "first"}, made, told]).encode()
        said.append(await outcome(items, ModelRequest("m", asked)))
        await chat.close()
        await items.close()
    assert said == ["first", "first", "it is done"]


async def outcome(model: Model, request: ModelRequest) -> str:
    try:
        return (await model.reply(request)).text
    except ModelError as error:
        return error.cause


async def test_a_wrong_key_and_a_wrong_path_are_refused() -> None:
    with StubServer([Say("a")]) as stub:
        stranger = chat_model(url=stub.url, key=SecretStr("sk-stranger"))
        lost = chat_model(url=stub.url + "/v2", key=SecretStr(STUB_KEY))
        assert await outcome(stranger, ask_for("hi")) == "endpoint refused the key"
        assert await outcome(lost, ask_for("hi")) == "endpoint refused the request"
        await stranger.close()
        await lost.close()
    assert len(stub.refusals) == 2


async def test_a_held_answer_comes_when_it_is_released() -> None:
    with StubServer([Hold(Say("late"))]) as stub:
        model = chat_model(url=stub.url, key=SecretStr(STUB_KEY))
        stub.release()
        assert await outcome(model, ask_for("hi")) == "late"
        await model.close()
    assert [entry.outcome for entry in stub.journal] == ["answered"]


async def test_without_an_answer_left_the_request_is_refused_and_noted() -> None:
    with StubServer([Say("a")]) as stub:
        model = chat_model(url=stub.url, key=SecretStr(STUB_KEY))
        assert await outcome(model, ask_for("hi")) == "a"
        assert await outcome(model, ask_for("hi")) == "endpoint refused the request"
        await model.close()
    assert stub.refusals == ["The test has no answer left for request 2."]


async def test_a_changed_prompt_is_refused_unless_that_is_allowed() -> None:
    for stable, expected in ((True, "endpoint refused the request"), (False, "b")):
        with StubServer([Say("a"), Say("b")], stable_prefix=stable) as stub:
            model = chat_model(url=stub.url, key=SecretStr(STUB_KEY))
            assert await outcome(model, ask_for("hi", "a", "on")) == "a"
            assert await outcome(model, ask_for("hi", "A", "on")) == expected
            await model.close()


SCRIPT = [
    {
        "faults": [
            {"status": 429, "headers": {"retry-after": "0"}},
            {"raw": "<html>", "content_type": "text/html"},
            {"drop": True},
            {"cut_after": 0},
            {"hang": True},
        ],
        "say": "hello",
    },
    {"when": "tea", "say": "no tea"},
]


@pytest.fixture
def process(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """URL and journal of a stub that runs the script as a process of its own."""
    script, journal = tmp_path / "script.json", tmp_path / "journal.jsonl"
    script.write_text(json.dumps(SCRIPT))
    program = (sys.executable, "-m", "errands_orchestrator.testing.strict")
    command = [*program, "--script", str(script), "--journal", str(journal)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as running:
        assert running.stdout
        yield running.stdout.readline().strip(), journal
        running.terminate()
        assert running.wait(timeout=10) == 0


async def test_a_process_plays_its_script_with_its_faults_and_keeps_a_journal(process: tuple[str, Path]) -> None:
    url, journal = process
    model = chat_model(url=url, key=SecretStr(STUB_KEY), timeout_seconds=1.5, stream=True)
    outcomes = [await outcome(model, ask_for("hi")) for _ in range(6)]
    assert outcomes == [
        "endpoint limits the rate",
        "endpoint answered garbage",
        "endpoint not reachable",
        "endpoint answered garbage",
        "endpoint timed out",
        "hello",
    ]
    assert await outcome(model, ask_for("hi", "hello", "tea please")) == "no tea"
    assert (
        await outcome(model, ask_for("hi", "hello", "tea please", "no tea", "coffee")) == "endpoint refused the request"
    )
    await model.close()
    eventually(lambda: journal.read_text().count("\n") == 8)
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    assert sorted(line["outcome"] for line in lines) == sorted(
        ["answered", "answered", "cut", "cut", "client left", "answered", "answered", "refused"]
    )
    assert lines[-1]["refusal"] == "The script has no turn for this request."
    assert json.loads(lines[0]["body"]) == lines[0]["request"]
