"""Several orchestrators on the same sessions: one dies, one freezes, one is robbed; what was said stays whole."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import pytest
import redis.asyncio
from tests.integration.errand import (
    begin,
    call,
    calls,
    event_came,
    events_of,
    faults_of,
    leftovers,
    log_of,
    orchestrating,
    run_ended,
)
from tests.integration.fake_worker import done, fake_worker, gated
from tests.waiting import aeventually

from errands_config import keys
from errands_config.settings import Settings
from errands_orchestrator import reads
from errands_orchestrator.definitions import MakeModel
from errands_orchestrator.models.model import ModelRequest, Reply
from errands_orchestrator.models.seen import SeenMessage, seen
from errands_orchestrator.ownership import Ownership
from errands_orchestrator.service import orchestrator
from errands_orchestrator.session import ToolsEntry, UserEntry

LEASE_SECONDS = 0.6


@pytest.fixture
def quick(settings: Settings) -> Settings:
    """Settings under which a dead owner is followed soon."""
    return settings.model_copy(update={"lease_seconds": LEASE_SECONDS})


@dataclass
class Recording:
    """A model that keeps every request, and whose answers may be held back."""

    answer: Callable[[Sequence[SeenMessage]], Reply]
    holds: Callable[[Sequence[SeenMessage]], bool] = lambda messages: False
    requests: list[bytes] = field(default_factory=list[bytes])
    released: asyncio.Event = field(default_factory=asyncio.Event)
    given_up: int = 0

    async def reply(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> Reply:
        self.requests.append(request.messages)
        messages = seen(request)
        if self.holds(messages):
            try:
                await self.released.wait()
            except asyncio.CancelledError:
                self.given_up += 1
                raise
        return self.answer(messages)

    async def close(self) -> None: ...

    @property
    def make(self) -> MakeModel:
        return lambda agent, script: (self, "recording")


def one_call_then_done(messages: Sequence[SeenMessage]) -> Reply:
    return calls(call("slow", "late", x=1)) if len(messages) == 2 else Reply("done")


def speaks_of_results(messages: Sequence[SeenMessage]) -> bool:
    return "completed:" in messages[-1].text


class Killable:
    """An orchestrator in a task of its own, which may be killed without any goodbye."""

    def __init__(self, settings: Settings, make_model: MakeModel) -> None:
        self._opened: asyncio.Future[Ownership] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._live(settings, make_model))

    async def _live(self, settings: Settings, make_model: MakeModel) -> None:
        async with orchestrator(settings, logs=False, make_model=make_model) as ownership:
            self._opened.set_result(ownership)
            await asyncio.Event().wait()

    async def in_hand(self) -> Sequence[str]:
        return (await self._opened).in_hand

    async def kill(self) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task


@asynccontextmanager
async def killable(settings: Settings, make_model: MakeModel) -> AsyncGenerator[Killable]:
    """An orchestrator that is killed at the end of the block, if it was not before."""
    orchestrator = Killable(settings, make_model)
    try:
        yield orchestrator
    finally:
        await orchestrator.kill()


async def test_a_request_whose_owner_died_is_sent_again_byte_for_byte_and_the_result_delivered_once(
    quick: Settings, astore: redis.asyncio.Redis
) -> None:
    sid = await begin(astore, asyncYieldStrategy={"tag": "yieldOnTimeout", "milliseconds": 0})
    first, second = Recording(one_call_then_done, holds=speaks_of_results), Recording(one_call_then_done)

    async with fake_worker(quick, "slow", tool=gated) as worker:
        async with killable(quick, first.make) as dying:
            await event_came(astore, sid, "turn.completed", 2)
            worker.end('{"x":1}', done("the late result"))
            await aeventually(lambda: asked(first, 3))
            await dying.kill()
        assert first.given_up == 1
        async with killable(quick, second.make):
            await run_ended(astore, sid)

    assert second.requests == [first.requests[-1]]
    assert len(await events_of(astore, sid, "turn.restarted")) == 1
    texts = [entry.text for entry in await log_of(astore, sid) if isinstance(entry, UserEntry)]
    assert sum("the late result" in text for text in texts) == 1
    assert await faults_of(astore, sid) == []
    assert await leftovers(astore) == {}


async def asked(model: Recording, times: int) -> bool:
    return len(model.requests) >= times


async def test_an_owner_that_froze_in_a_model_call_writes_nothing_when_it_wakes(
    quick: Settings, astore: redis.asyncio.Redis
) -> None:
    sid = await begin(astore)
    frozen = Recording(lambda messages: calls(call("unknown", "ghost")), holds=lambda messages: True)
    other = Recording(lambda messages: Reply("the answer"))
    slow_to_renew = quick.model_copy(update={"lease_seconds": 3600})  # so that only its commit can tell it

    async with killable(slow_to_renew, frozen.make) as sleeper:
        await aeventually(lambda: asked(frozen, 1))
        await astore.zadd(keys.DUE, {sid: 1})
        async with killable(quick, other.make):
            await run_ended(astore, sid)
            before = await log_of(astore, sid)
            frozen.released.set()
            await aeventually(lambda: let_go(sleeper))

    assert await log_of(astore, sid) == before
    assert other.requests == frozen.requests  # it did not go on to its next request either
    assert await astore.zcard(keys.calls(sid)) == 0
    assert await leftovers(astore) == {}


async def let_go(orchestrator: Killable) -> bool:
    return not await orchestrator.in_hand()


async def test_an_owner_that_hears_that_it_lost_a_session_ends_its_model_call(
    quick: Settings, astore: redis.asyncio.Redis
) -> None:
    sid = await begin(astore)
    loser = Recording(one_call_then_done, holds=lambda messages: True)

    async with killable(quick, loser.make):
        await aeventually(lambda: asked(loser, 1))
        await astore.hset(keys.session(sid), "token", "of another")
        await aeventually(lambda: gave_up(loser))

    assert len(loser.requests) == 1


async def gave_up(model: Recording) -> bool:
    return model.given_up == 1


async def test_two_orchestrators_step_each_session_one_at_a_time(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    sids = [await begin(astore, f"session {n}") for n in range(12)]

    def answer(messages: Sequence[SeenMessage]) -> Reply:
        turns = sum(message.role == "assistant" for message in messages)
        return calls(*(call("work", x=n) for n in range(3))) if turns < 3 else Reply("done")

    one, two = Recording(answer), Recording(answer)
    async with fake_worker(settings, "work") as worker, killable(settings, one.make), killable(settings, two.make):
        await run_ended(astore, *sids)

    assert len(set(one.requests + two.requests)) == len(one.requests + two.requests)
    assert len(worker.claimed) == 12 * 3 * 3
    assert worker.refused == []
    assert [fault for sid in sids for fault in await faults_of(astore, sid)] == []


async def test_an_orchestrator_for_one_session_steps_that_one_only(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    mine, other = await begin(astore, "mine"), await begin(astore, "other")

    async with fake_worker(settings, "work"), orchestrating(settings, one_call_of_work, only=mine):
        await run_ended(astore, mine)

    assert await log_of(astore, other) == ()
    assert any(isinstance(entry, ToolsEntry) for entry in await log_of(astore, mine))


def one_call_of_work(messages: Sequence[SeenMessage]) -> Reply:
    return calls(call("work", x=1)) if len(messages) == 2 else Reply("done")


async def test_an_orchestrator_that_ends_parks_what_it_can_and_leaves_the_rest_to_others(
    quick: Settings, astore: redis.asyncio.Redis
) -> None:
    sid = await begin(astore)
    asked_once = asyncio.Event()

    async def slow(messages: Sequence[SeenMessage]) -> Reply:
        asked_once.set()
        await asyncio.sleep(0.1)
        return Reply("said while it closed")

    async with orchestrating(quick, slow):
        await asked_once.wait()

    assert (await events_of(astore, sid))[-1]["kind"] == "run.ended"
    assert await leftovers(astore) == {}


async def test_what_the_block_of_an_orchestrator_raises_comes_out_and_leaves_no_step_behind(
    quick: Settings, astore: redis.asyncio.Redis
) -> None:
    await begin(astore)
    model = Recording(one_call_then_done, holds=lambda messages: True)
    opened: list[Ownership] = []

    async def raise_inside() -> None:
        async with orchestrator(quick, logs=False, make_model=model.make) as ownership:
            opened.append(ownership)
            await aeventually(lambda: asked(model, 1))
            raise LookupError("of the block")

    with pytest.raises(LookupError, match="of the block"):
        await raise_inside()

    assert model.given_up == 1
    assert list(opened[0].in_hand) == []


async def test_a_snapshot_that_cannot_be_read_harms_no_other_session(
    quick: Settings, astore: redis.asyncio.Redis
) -> None:
    broken, whole = await begin(astore), await begin(astore)
    await astore.hset(keys.session(broken), "snapshot", json.dumps({"id": 1}))

    async with orchestrating(quick, lambda messages: Reply("done")):
        await run_ended(astore, whole)

    assert await log_of(astore, broken) == ()


async def test_a_session_that_is_being_acquired_as_the_process_ends_is_parked_all_the_same(
    quick: Settings, astore: redis.asyncio.Redis
) -> None:
    for _ in range(20):
        async with orchestrating(quick, lambda messages: Reply("said")) as ownership:
            sid = await begin(astore)
            taking = asyncio.create_task(ownership.take(sid))
            await asyncio.sleep(0)
        await taking
        assert await reads.field(astore, keys.session(sid), "token") == ""
