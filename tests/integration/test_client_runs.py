"""How a client knows that a run has ended or stands still, also where an event alone would mislead it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest
import redis.asyncio
from tests.integration.errand import answering, make_agent

from errands_config import keys
from errands_config.errors import ModelError
from errands_config.scripts import sessions as scripts
from errands_config.scripts.script import arun
from errands_config.settings import Settings
from errands_orchestrator import Client, sessions
from errands_orchestrator.client_place import place
from errands_orchestrator.client_runs import Run, Runs
from errands_orchestrator.models.model import Reply
from errands_orchestrator.models.seen import SeenMessage

AGENT = make_agent()


class Gate:
    """A model that repeats the last message, once it may; or fails."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.open.set()
        self.asked = asyncio.Event()
        self.failing = False

    async def __call__(self, messages: Sequence[SeenMessage]) -> Reply:
        self.asked.set()
        await self.open.wait()
        if self.failing:
            raise ModelError("no key", cause="endpoint refused the key", retryable=False)
        return Reply(f"heard {messages[-1].text}")


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
async def client(settings: Settings, astore: redis.asyncio.Redis, gate: Gate) -> AsyncIterator[Client]:
    async with Client(settings, make_model=answering(gate)) as client:
        yield client


@pytest.fixture
async def runs(settings: Settings, client: Client, gate: Gate) -> AsyncIterator[Runs]:
    async with place(settings) as here:
        yield Runs(here, answering(gate))


async def test_a_run_that_is_followed_by_another_in_one_step_goes_on(client: Client, gate: Gate) -> None:
    gate.failing = True
    session = (await client.run_until_blocked(AGENT, "one")).session
    gate.failing = False
    await client.cancel_run(session)
    await client.send(session, "two")

    assert "two" in await client.resume(session)

    kinds = [event.kind async for event in client.events(session, follow=False)]
    assert kinds[kinds.index("run.ended") + 1] == "run.started"


async def test_a_pause_from_before_a_resume_is_no_end(
    client: Client, runs: Runs, gate: Gate, astore: redis.asyncio.Redis
) -> None:
    gate.failing = True
    session = (await client.run_until_blocked(AGENT, "hello")).session
    gate.failing = False
    # somebody else has the session for a moment, so the resume is not taken in when the pause is read
    await arun(astore, scripts.acquire(session, "t", "elsewhere", 1_000, named=True))
    receipt = await sessions.control(astore, session, "resume")

    run = await asyncio.wait_for(runs.to_the_end(session, "0-0", receipt.seq), 20)

    assert run == Run(session, "completed", "heard hello")


async def trimmed_run(client: Client, store: redis.asyncio.Redis) -> str:
    """A session whose run is over, or stands still, with no event left that says so."""
    session = (await client.run_until_blocked(AGENT, "hello")).session
    await store.xtrim(keys.events(session), maxlen=0, approximate=False)
    return session


async def test_an_end_whose_event_is_gone_is_found_in_the_record(
    client: Client, runs: Runs, gate: Gate, astore: redis.asyncio.Redis
) -> None:
    completed = await trimmed_run(client, astore)
    gate.failing = True
    paused = await trimmed_run(client, astore)

    async with asyncio.timeout(20):
        assert await runs.to_the_end(completed, "0-0") == Run(completed, "completed", "heard hello")
        assert await runs.to_the_end(paused, "0-0") == Run(paused, "paused", cause="endpoint refused the key")


async def test_a_run_that_is_left_as_its_answer_comes_is_parked_and_not_dropped(
    client: Client, gate: Gate, astore: redis.asyncio.Redis
) -> None:
    gate.open.clear()
    running = asyncio.create_task(client.run(AGENT, "hello"))
    await gate.asked.wait()
    [row] = await sessions.rows(astore)

    running.cancel()
    asyncio.get_running_loop().call_later(0.1, gate.open.set)
    with pytest.raises(asyncio.CancelledError):
        await running

    assert await sessions.status_of(astore, row.id) == "idle"
    assert await client.resume(row.id) == "heard hello"
