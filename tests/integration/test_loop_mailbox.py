"""Mail in a real store: what interrupts a request that is out, what leaves it alone, and how full a mailbox gets."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

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
    orchestrating,
    run_ended,
    shown,
)
from tests.integration.fake_worker import done, fake_worker, gated
from tests.waiting import aeventually

from errands_config import keys
from errands_config.errors import Conflict
from errands_config.settings import Settings
from errands_config.wire import CallState, Outcome
from errands_orchestrator import sessions
from errands_orchestrator.models.model import Reply
from errands_orchestrator.models.seen import SeenMessage
from errands_orchestrator.session import UserEntry


class Slow:
    """A model whose first answer comes only when it is let go; what it was asked, and how often it was broken off."""

    def __init__(self, *answers: Reply) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []
        self.broken_off = 0
        self.go = asyncio.Event()

    async def __call__(self, messages: Sequence[SeenMessage]) -> Reply:
        self.asked.append(messages[-1].text)
        try:
            if len(self.asked) == 1:
                await self.go.wait()
        except asyncio.CancelledError:
            self.broken_off += 1
            raise
        return self.answers.pop(0) if self.answers else Reply("done")

    async def is_asked(self, times: int = 1) -> None:
        async def asked() -> bool:
            return len(self.asked) >= times

        await aeventually(asked)


async def paused(store: redis.asyncio.Redis, sid: str) -> None:
    async def is_paused() -> bool:
        return await sessions.status_of(store, sid) == "paused"

    await aeventually(is_paused)


async def test_a_pause_breaks_the_request_off_and_resume_sends_the_same_one(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    sid, model = await begin(astore), Slow()

    async with orchestrating(settings, model):
        await model.is_asked()
        await sessions.control(astore, sid, "pause")
        await paused(astore, sid)
        assert (await sessions.row(astore, sid)).cause == "paused by user"
        assert await leftovers(astore) == {}
        await sessions.control(astore, sid, "resume")
        await run_ended(astore, sid)

    assert (model.asked, model.broken_off) == (["go", "go"], 1)


async def test_calls_are_cancelled_while_the_model_answers_and_the_request_goes_on(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    sid = await begin(astore, asyncYieldStrategy={"tag": "yieldOnTimeout", "milliseconds": 0})
    second = asyncio.Event()
    asked: list[int] = []

    async def answer(messages: Sequence[SeenMessage]) -> Reply:
        asked.append(len(messages))
        if len(messages) == 2:
            return calls(call("slow", "a", x=1))
        if len(messages) == 4:
            await second.wait()
        return Reply("done")

    async with fake_worker(settings, "slow", tool=gated) as worker, orchestrating(settings, answer):
        await event_came(astore, sid, "tool_call.started")
        await event_came(astore, sid, "turn.started", 2)
        [cid] = await sessions.call_ids(astore, sid)
        await sessions.control(astore, sid, "cancelCalls", calls=(cid,))

        async def is_wished() -> bool:
            await worker.beat()
            return worker.wishes == {cid: "cancel"}

        await aeventually(is_wished)
        worker.end('{"x":1}', Outcome(state=CallState.CANCELLED))
        [ended] = await event_came(astore, sid, "tool_call.cancelled")
        second.set()
        await run_ended(astore, sid)

    assert ended["by"] == "user"
    assert asked == [2, 4, 6]
    assert await faults_of(astore, sid) == []


@pytest.mark.parametrize("breaks_off", [True, False])
async def test_interrupt_mail_breaks_a_completion_off_only_where_the_agent_says_so(
    settings: Settings, astore: redis.asyncio.Redis, breaks_off: bool
) -> None:
    sid, model = await begin(astore, interruptCompletions=breaks_off), Slow()

    async with orchestrating(settings, model):
        await model.is_asked()
        await sessions.send(astore, sid, "no, wait", interrupt=True)
        if breaks_off:
            await model.is_asked(2)
        model.go.set()
        await run_ended(astore, sid)

    assert (model.asked, model.broken_off) == (["go", "no, wait"], int(breaks_off))
    texts = [entry.text for entry in await sessions.entries_of(astore, sid) if isinstance(entry, UserEntry)]
    assert texts == ["go", "no, wait"]


async def test_interrupt_mail_lets_go_of_a_call_that_the_step_would_wait_for(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    sid = await begin(astore)

    def answer(messages: Sequence[SeenMessage]) -> Reply:
        return calls(call("wait", "a", x=1)) if len(messages) == 2 else Reply("as you like")

    async with fake_worker(settings, "wait", tool=gated) as worker, orchestrating(settings, answer):
        await event_came(astore, sid, "tool_call.started")
        await sessions.send(astore, sid, "leave it", interrupt=True)
        await event_came(astore, sid, "turn.completed", 2)
        worker.end('{"x":1}', done("all the same"))
        await run_ended(astore, sid)

    told = await shown(astore, sid)
    assert '"detached":"interrupted"' in told
    assert told.count("all the same") == 1
    assert await faults_of(astore, sid) == []


async def test_a_paused_session_takes_256_letters_and_says_full_until_they_are_shown(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    sid, model = await begin(astore), Slow()

    async with orchestrating(settings, model):
        await model.is_asked()
        await sessions.control(astore, sid, "pause")
        await paused(astore, sid)
        for number in range(keys.MAIL_BOUND):
            await sessions.send(astore, sid, f"letter {number}")
        with pytest.raises(Conflict, match="mailbox full"):
            await sessions.send(astore, sid, "one too many")
        await sessions.control(astore, sid, "resume")
        await run_ended(astore, sid)
        await sessions.send(astore, sid, "room again")
        await run_ended(astore, sid, times=2)

    told = await shown(astore, sid)
    assert [f"letter {number}" in told for number in range(keys.MAIL_BOUND)] == [True] * keys.MAIL_BOUND
    assert "one too many" not in told


async def test_the_same_letter_again_is_answered_with_its_first_receipt(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    sid = await begin(astore)

    first = await sessions.send(astore, sid, "once", mail_id="m1")
    second = await sessions.send(astore, sid, "once", mail_id="m1")
    async with orchestrating(settings, lambda _: Reply("done")):
        await run_ended(astore, sid)

    assert (first.outcome, second.outcome, first.seq) == ("sent", "duplicate", second.seq)
    assert (await shown(astore, sid)).count("once") == 1


async def test_a_run_that_leaves_its_calls_behind_ends_and_tells_of_them_later(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    sid = await begin(astore, onRunEnd="detach", asyncYieldStrategy={"tag": "yieldOnTimeout", "milliseconds": 0})

    def answer(messages: Sequence[SeenMessage]) -> Reply:
        return calls(call("slow", "a", x=1)) if len(messages) == 2 else Reply("bye")

    async with fake_worker(settings, "slow", tool=gated) as worker, orchestrating(settings, answer):
        await run_ended(astore, sid)
        worker.end('{"x":1}', done("made it"))
        await event_came(astore, sid, "tool_call.completed")
        assert len(await events_of(astore, sid, "run.started")) == 1
        await sessions.send(astore, sid, "and?")
        await run_ended(astore, sid, times=2)

    assert (await shown(astore, sid)).count("made it") == 1
    assert await faults_of(astore, sid) == []
    assert await leftovers(astore) == {}
