"""The Python API on a real store: runs from their prompt to their answer, and sessions that others step."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import redis.asyncio
import structlog
from tests.integration.errand import answering, call, calls, make_agent, orchestrating, run_ended
from tests.integration.fake_worker import done, echo, fake_worker, gated
from tests.waiting import aeventually

from errands_config.errors import ConfigError, Conflict, ModelError, NotFound, StoreUnreachable
from errands_config.settings import Settings
from errands_orchestrator import Client, Run, RunCancelled, RunPaused, sessions
from errands_orchestrator.models.model import Reply
from errands_orchestrator.models.seen import SeenMessage


class Speaker:
    """A model that a test talks through. It repeats what it was told last, until `failing` or `silent`."""

    def __init__(self) -> None:
        self.failing = False
        self.silent = False
        self.asked = 0

    async def __call__(self, messages: Sequence[SeenMessage]) -> Reply:
        self.asked += 1
        if self.silent:
            await asyncio.Event().wait()
        if self.failing:
            raise ModelError("no key", cause="endpoint refused the key", retryable=False)
        last = messages[-1]
        return calls(call("work", x=1)) if last.text == "work" else Reply(f"heard {last.text}")


@pytest.fixture
def speaker() -> Speaker:
    return Speaker()


@pytest.fixture
async def client(settings: Settings, astore: redis.asyncio.Redis, speaker: Speaker) -> AsyncIterator[Client]:
    """A client, and a worker that offers `work`."""
    async with fake_worker(settings, "work"), Client(settings, make_model=answering(speaker)) as client:
        yield client


AGENT = make_agent(tools=["work"])


# ---- runs


async def test_a_run_answers_with_what_the_model_said_last(client: Client) -> None:
    assert await client.run(AGENT, "hello") == "heard hello"
    assert await client.run(AGENT, "work") == 'heard work {"x":1}'


async def test_runs_at_the_same_time_keep_to_themselves(client: Client) -> None:
    answers = await asyncio.gather(*(client.run(AGENT, f"number {n}") for n in range(5)))

    assert answers == [f"heard number {n}" for n in range(5)]


async def test_a_run_is_stepped_beside_an_orchestrator(client: Client, settings: Settings, speaker: Speaker) -> None:
    async with orchestrating(settings, speaker):
        assert [await client.run(AGENT, f"number {n}") for n in range(3)] == [f"heard number {n}" for n in range(3)]

    assert speaker.asked == 3


async def test_an_agent_is_a_file_or_parsed_or_a_published_slug(client: Client, tmp_path: Path) -> None:
    file = tmp_path / "agent.json"
    file.write_text(json.dumps({"slug": "written", "tools": ["work"]}))

    assert await client.run(file, "1") == "heard 1"
    assert await client.run(str(file), "2") == "heard 2"
    assert await client.run("written", "3") == "heard 3"


async def test_a_run_that_the_endpoint_stopped_is_raised_with_its_session_and_goes_on(
    client: Client, speaker: Speaker
) -> None:
    speaker.failing = True
    with pytest.raises(RunPaused, match="endpoint refused the key") as paused:
        await client.run(AGENT, "hello")
    assert paused.value.cause == "endpoint refused the key"

    with pytest.raises(RunPaused):
        await client.resume(paused.value.session)
    speaker.failing = False
    assert await client.resume(paused.value.session) == "heard hello"


async def test_how_a_run_stands_can_be_had_without_an_error(client: Client, speaker: Speaker) -> None:
    speaker.failing = True

    run = await client.run_until_blocked(AGENT, "hello")

    assert run == Run(run.session, "paused", cause="endpoint refused the key")


async def test_a_run_that_somebody_cancels_is_raised_as_that(
    client: Client, astore: redis.asyncio.Redis, speaker: Speaker
) -> None:
    speaker.silent = True
    running = asyncio.create_task(client.run(AGENT, "hello"))
    await aeventually(lambda: _true(speaker.asked))
    [row] = await sessions.rows(astore)

    await client.cancel_run(row.id)

    with pytest.raises(RunCancelled) as cancelled:
        await running
    assert cancelled.value.session == row.id
    with pytest.raises(Conflict, match="was cancelled"):
        await client.resume(row.id)


async def test_a_wait_that_is_cancelled_leaves_the_session_for_others(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    client = Client(settings, make_model=answering(_waits))
    async with fake_worker(settings, "wait", tool=gated) as worker, client:
        running = asyncio.create_task(client.run(make_agent(tools=["wait"]), "go"))
        await aeventually(lambda: _true(worker.claimed))
        [row] = await sessions.rows(astore)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

        worker.end('{"x":1}', done("over"))

        assert await client.resume(row.id) == "heard over"


async def test_a_session_goes_on_as_a_conversation(client: Client) -> None:
    session = await client.start(AGENT, "one")
    assert await client.resume(session) == "heard one"
    assert await client.resume(session) == "heard one"

    await client.send(session, "two")

    assert await client.resume(session) == "heard two"


async def test_a_paused_session_stands_still_until_it_is_resumed(client: Client) -> None:
    session = await client.start(AGENT)
    await client.pause(session)
    await client.send(session, "hello")

    assert await client.resume(session) == "heard hello"


async def test_where_nothing_was_said_there_is_nothing_to_resume(client: Client) -> None:
    with pytest.raises(Conflict, match="nothing was said"):
        await client.resume(await client.start(AGENT))


# ---- sessions that others step


async def test_a_session_that_is_started_waits_for_an_orchestrator(
    client: Client, settings: Settings, astore: redis.asyncio.Redis, speaker: Speaker
) -> None:
    session = await client.start(AGENT, "hello")
    assert speaker.asked == 0

    async with orchestrating(settings, speaker):
        await run_ended(astore, session)
        await client.send(session, "again")
        await run_ended(astore, session, times=2)

    assert speaker.asked == 2


async def test_a_message_with_the_same_id_is_heard_once(client: Client, speaker: Speaker) -> None:
    session = await client.start(AGENT)

    first = await client.send(session, "hello", id="m-1")
    second = await client.send(session, "hello", id="m-1")

    assert (first.id, first.duplicate, second.duplicate) == ("m-1", False, True)
    assert await client.resume(session) == "heard hello"
    assert speaker.asked == 1


async def test_an_interrupt_lets_go_of_what_the_session_waits_for(
    settings: Settings, astore: redis.asyncio.Redis, speaker: Speaker
) -> None:
    client = Client(settings, make_model=answering(_waits))
    async with fake_worker(settings, "wait", tool=gated) as worker, client:
        session = await client.start(make_agent(tools=["wait"], toolCallPolicyConfig={"default": {"tag": "runAsync"}}))
        await client.send(session, "go")
        running = asyncio.create_task(client.resume(session))
        await aeventually(lambda: _running_calls(client, session))

        await client.send(session, "stop that", interrupt=True)
        await aeventually(lambda: _said(astore, session, "heard stop that"))
        worker.end('{"x":1}', done("over"))

        assert "over" in await running


# ---- what cannot be


async def test_what_does_not_exist_is_said_as_that(client: Client, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no published agent 'nobody'"):
        await client.run("nobody", "hello")
    with pytest.raises(NotFound, match="offers a tool named 'nothing'"):
        await client.start(make_agent(tools=["nothing"]), "hello")
    with pytest.raises(ConfigError, match="no such agent file"):
        await client.run(tmp_path / "none.json", "hello")
    for ask in (client.send("s", "hello"), client.pause("s"), client.resume("s"), client.calls("s")):
        with pytest.raises(NotFound, match="no session 's'"):
            await ask


async def test_an_agent_with_toolboxes_that_came_without_a_file_gets_no_worker(client: Client) -> None:
    boxes = [{"tag": "Module", "contents": {"Module": "some_tools"}}]

    with pytest.raises(NotFound, match="start one with `errands worker FILE`"):
        await client.run(make_agent(functionToolboxes=boxes), "hello")


async def test_a_model_that_cannot_be_asked_is_said_before_anything_begins(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    async with Client(settings) as client:
        with pytest.raises(ConfigError, match="name a model"):
            await client.run(make_agent(), "hello")
        assert await sessions.rows(astore) == ()


async def test_a_client_is_used_inside_its_block(settings: Settings) -> None:
    client = Client(settings)
    with pytest.raises(Conflict, match="async with"):
        await client.start(AGENT, "hello")
    async with client:
        pass
    with pytest.raises(Conflict, match="async with"):
        await client.position("s")


async def test_a_store_that_is_not_there_is_named(settings: Settings, tmp_path: Path) -> None:
    with pytest.raises(StoreUnreachable, match="no-such"):
        async with Client(settings.at(f"unix://{tmp_path}/no-such.sock")):
            pass


async def test_settings_come_from_the_environment_once(
    settings: Settings, store: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ERRANDS_REDIS_URL", settings.redis_url or "")
    monkeypatch.setenv("ERRANDS_HOME", str(settings.home))
    client = Client()
    monkeypatch.setenv("ERRANDS_REDIS_URL", "no url at all")

    async with client:
        with pytest.raises(NotFound):
            await client.position("s")


async def test_what_is_logged_goes_to_logging_and_not_to_the_applications_output(
    settings: Settings,
    astore: redis.asyncio.Redis,
    speaker: Speaker,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    structlog.reset_defaults()
    speaker.failing = True

    async with Client(settings, make_model=answering(speaker)) as client:
        await client.run_until_blocked(make_agent(), "hello")

    assert "model.failed" in caplog.text
    assert capsys.readouterr().out == ""


async def test_a_closed_client_leaves_nothing_running(settings: Settings, astore: redis.asyncio.Redis) -> None:
    before = asyncio.all_tasks()

    async with fake_worker(settings, "work", tool=echo), Client(settings, make_model=answering(Speaker())) as client:
        await client.run(AGENT, "work")

    assert asyncio.all_tasks() == before


# ---- looking past the client


async def _true(value: Any) -> Any:
    return value


async def _waits(messages: Sequence[SeenMessage]) -> Reply:
    return calls(call("wait", x=1)) if messages[-1].text == "go" else Reply(f"heard {messages[-1].text}")


async def _running_calls(client: Client, session: str) -> bool:
    return [row.state for row in await client.calls(session)] == ["running"]


async def _said(store: redis.asyncio.Redis, session: str, text: str) -> bool:
    return any(getattr(entry, "text", "") == text for entry in await sessions.entries_of(store, session))
