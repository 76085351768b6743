"""Calls from Python: cancelled by an application, and made without a model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import redis.asyncio
from tests.integration.errand import answering, call, calls, make_agent
from tests.integration.fake_worker import FakeWorker, done, fake_worker, gated
from tests.waiting import aeventually

from errands_config import keys
from errands_config.errors import Conflict, NotFound, ToolError
from errands_config.settings import Settings
from errands_config.wire import CallState, Claimed, Outcome
from errands_orchestrator import Client
from errands_orchestrator.calls import call_row

AGENT = make_agent(tools=["work"], toolCallPolicyConfig={"default": {"tag": "runAsync"}})
ENDS: dict[str, Outcome] = {
    '{"end":"text"}': done("two words"),
    '{"end":"json"}': Outcome(state=CallState.COMPLETED, result='{"words":[2,null]}', result_type="json"),
    '{"end":"failed"}': Outcome(state=CallState.FAILED, error="no such text", error_kind="ValueError"),
    '{"end":"timed out"}': Outcome(state=CallState.TIMED_OUT, timeout_seconds=3),
}


async def ends_as_asked(worker: FakeWorker, claimed: Claimed) -> Outcome:
    known = ENDS.get(claimed.arguments)
    return known if known else await gated(worker, claimed)


@pytest.fixture
async def worker(settings: Settings, astore: redis.asyncio.Redis) -> AsyncIterator[FakeWorker]:
    async with fake_worker(settings, "work", tool=ends_as_asked) as worker:
        yield worker


@pytest.fixture
async def client(settings: Settings, worker: FakeWorker) -> AsyncIterator[Client]:
    async with Client(settings, make_model=answering(lambda _: calls(call("work", wait=1)))) as client:
        yield client


async def claimed_call(worker: FakeWorker) -> str:
    async def claimed() -> list[Claimed]:
        return worker.claimed

    return (await aeventually(claimed))[-1].call


# ---- a tool without a model


async def test_a_tool_answers_with_its_text_or_the_value_of_its_json(client: Client) -> None:
    assert await client.call_tool("work", {"end": "text"}) == "two words"
    assert await client.call_tool("work", {"end": "json"}) == {"words": [2, None]}


@pytest.mark.parametrize(("end", "said"), [("failed", "no such text"), ("timed out", "timed out after 3s")])
async def test_every_other_end_is_an_error_that_says_why(client: Client, end: str, said: str) -> None:
    with pytest.raises(ToolError, match=said):
        await client.call_tool("work", {"end": end})


async def test_a_tool_that_nobody_offers_is_said_with_the_one_that_was_meant(client: Client) -> None:
    with pytest.raises(NotFound, match="did you mean 'work'"):
        await client.call_tool("wrok")


async def test_a_caller_that_stops_waiting_cancels_the_call(
    client: Client, worker: FakeWorker, astore: redis.asyncio.Redis
) -> None:
    calling = asyncio.create_task(client.call_tool("work", {"wait": 1}))
    cid = await claimed_call(worker)

    calling.cancel()

    with pytest.raises(asyncio.CancelledError):
        await calling
    assert await astore.hget(keys.wishes("w1"), cid)


# ---- calls of a session


async def test_a_call_that_waits_for_a_worker_is_cancelled_at_once(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    async with fake_worker(settings, "work", queues=()):
        client = Client(settings, make_model=answering(lambda _: calls(call("work", wait=1))))
        async with client:
            running = asyncio.create_task(client.run(AGENT, "go"))
            row = await aeventually(lambda: newest_call(client, astore))

            told = await client.cancel(row, reason="not needed")

            assert (told.call, told.cancelled, told.status) == (row, True, CallState.CANCELLED)
            assert not told.is_requested
            kept = await call_row(astore, row)
            assert kept
            assert kept.outcome
            assert (kept.outcome.by, kept.outcome.reason) == ("user", "not needed")
            with pytest.raises(Conflict, match="had already ended: cancelled"):
                await client.cancel(row)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running


async def test_a_call_that_ends_by_itself_meanwhile_was_not_cancelled(client: Client, worker: FakeWorker) -> None:
    running = asyncio.create_task(client.run(AGENT, "go"))
    cid = await claimed_call(worker)
    cancelling = asyncio.create_task(client.cancel(cid))
    await aeventually(lambda: wished(worker, cid))

    worker.end('{"wait":1}', done("two words"))

    told = await cancelling
    assert (told.cancelled, told.previous_status, told.status) == (False, CallState.RUNNING, CallState.COMPLETED)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_an_unknown_call_cannot_be_cancelled(client: Client) -> None:
    with pytest.raises(NotFound):
        await client.cancel("c")


async def test_calls_are_listed_newest_first_with_their_ends(client: Client, worker: FakeWorker) -> None:
    session = await client.start(AGENT)
    assert await client.calls(session) == ()

    await client.send(session, "go")
    running = asyncio.create_task(client.resume(session))
    await claimed_call(worker)
    worker.end('{"wait":1}', done("two words"))
    await aeventually(lambda: enough_calls(client, session))
    await client.cancel_run(session)
    await asyncio.gather(running, return_exceptions=True)

    rows = await client.calls(session)
    assert [row.id for row in rows] == sorted((row.id for row in rows), reverse=True)
    assert rows[-1].outcome == done("two words")
    assert await client.calls(session, limit=1) == rows[:1]


async def newest_call(client: Client, store: redis.asyncio.Redis) -> str:
    for session in await store.zrange(keys.SESSIONS, 0, -1):
        if rows := await client.calls(str(session)):
            return rows[0].id
    return ""


async def wished(worker: FakeWorker, cid: str) -> bool:
    return cid in await worker.store.hkeys(keys.wishes(worker.name))


async def enough_calls(client: Client, session: str) -> bool:
    return len(await client.calls(session)) > 1
