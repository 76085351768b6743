"""Deferred calls over whole sessions on a real store: parked, running, or with nobody at all to step them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
    shown,
)
from tests.integration.fake_worker import done, echo, fake_worker, gated
from tests.waiting import aeventually

from errands_config import keys
from errands_config.scripts import deferred
from errands_config.scripts.script import arun
from errands_config.settings import Settings
from errands_config.wire import CallState, Outcome
from errands_orchestrator import reads, sessions
from errands_orchestrator.calls import place_of
from errands_orchestrator.models.model import Reply
from errands_orchestrator.models.seen import SeenMessage
from errands_orchestrator.session import ToolsEntry

GATED: dict[str, Any] = {
    "toolCallPolicyConfig": {
        "default": {"tag": "runSync"},
        "rules": [
            {"tool": "gate", "disposition": {"tag": "defer", "reason": "somebody has to agree"}},
            {"tool": "soon", "disposition": {"tag": "defer", "reason": "at once", "expiresSeconds": 1}},
            {"tool": "work", "disposition": {"tag": "runAsync"}},
        ],
    }
}
DENIED = Outcome(state=CallState.DENIED, error="not on a Friday")


def once(*tools: str, then: str = "all is told") -> Any:
    """A model that calls these tools at first and then ends its turn."""

    def answer(messages: Sequence[SeenMessage]) -> Reply:
        made = (call(tool, f"call_{number}", x=1) for number, tool in enumerate(tools, 1))
        return calls(*made) if len(messages) == 2 else Reply(then)

    return answer


async def outside(store: redis.asyncio.Redis, cid: str, outcome: Outcome, nonce: int = 1) -> str:
    place = await place_of(store, cid)
    assert place
    return (await arun(store, deferred.complete(place, nonce, outcome))).outcome


async def parked(store: redis.asyncio.Redis, sid: str, status: str = "waiting_external") -> None:
    async def is_parked() -> bool:
        return await sessions.status_of(store, sid) == status

    await aeventually(is_parked, within=10, saying=f"{sid} is {status}")


async def results_of(store: redis.asyncio.Redis, sid: str) -> list[str]:
    entries = await log_of(store, sid)
    return [message.text for entry in entries if isinstance(entry, ToolsEntry) for message in entry.messages]


async def test_equal_deferred_calls_of_one_turn_each_get_their_own_answer(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    async with orchestrating(settings, once("gate", "gate", "gate")):
        sid = await begin(astore, "go", "gate", **GATED)
        await parked(astore, sid)
        first, second, third = await sessions.call_ids(astore, sid)

        assert await outside(astore, second, done("the second")) == "ok"
        assert await outside(astore, first, DENIED) == "ok"
        assert await sessions.status_of(astore, sid) != "idle"
        assert await outside(astore, third, Outcome(state=CallState.FAILED, error="no way")) == "ok"
        await run_ended(astore, sid)

    assert await results_of(astore, sid) == ["not on a Friday", "the second", "async tool call failed: no way"]
    assert len(await events_of(astore, sid, "run.blocked")) == 1
    assert await faults_of(astore, sid) == []
    assert await leftovers(astore) == {}


async def test_what_was_completed_while_nobody_steps_the_session_is_told_by_the_next_owner(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    async with orchestrating(settings, once("gate")):
        sid = await begin(astore, "go", "gate", **GATED)
        await parked(astore, sid)
    [cid] = await sessions.call_ids(astore, sid)

    assert await outside(astore, cid, done("agreed")) == "ok"
    assert await outside(astore, cid, done("agreed")) == "again"
    assert await outside(astore, cid, DENIED) == "conflict"

    async with orchestrating(settings, once("gate")):
        await run_ended(astore, sid)
    assert await results_of(astore, sid) == ["agreed"]
    assert await faults_of(astore, sid) == []


async def test_an_answer_that_comes_while_the_session_is_stepped_is_told_once(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    async with orchestrating(settings, once("gate", "work")), fake_worker(settings, tool=gated) as worker:
        sid = await begin(astore, "go", "gate", "work", **GATED)
        await event_came(astore, sid, "tool_call.started")
        gate, _ = await sessions.call_ids(astore, sid)
        assert await outside(astore, gate, done("agreed")) == "ok"
        worker.end('{"x":1}', done("worked"))
        await run_ended(astore, sid)

    said = await shown(astore, sid)
    assert (said.count("agreed"), said.count("worked")) == (1, 1)
    assert await faults_of(astore, sid) == []


async def test_nobody_came_in_time(settings: Settings, astore: redis.asyncio.Redis) -> None:
    async with orchestrating(settings, once("soon")):
        sid = await begin(astore, "go", "soon", **GATED)
        await run_ended(astore, sid)

    [cid] = await sessions.call_ids(astore, sid)
    assert await results_of(astore, sid) == ["nobody completed this call in time"]
    assert await outside(astore, cid, done("too late")) == "gone"
    assert await reads.field(astore, keys.call(cid), "late") == "1"
    assert await leftovers(astore) == {}


async def test_no_wait_is_longer_than_the_settings_allow(settings: Settings, astore: redis.asyncio.Redis) -> None:
    short = settings.model_copy(update={"max_deferred_seconds": 0.5})
    async with orchestrating(short, once("gate")):
        sid = await begin(astore, "go", "gate", **GATED)
        await run_ended(astore, sid)

    assert await results_of(astore, sid) == ["nobody completed this call in time"]


async def test_a_call_with_leave_runs_on_a_worker(settings: Settings, astore: redis.asyncio.Redis) -> None:
    async with orchestrating(settings, once("gate")), fake_worker(settings, tool=echo) as worker:
        sid = await begin(astore, "go", "gate", **GATED)
        await parked(astore, sid)
        [cid] = await sessions.call_ids(astore, sid)
        assert worker.claimed == []

        place = await place_of(astore, cid)
        assert place
        answer = await arun(astore, deferred.approve(place, 1, '{"x":1}'))
        await run_ended(astore, sid)

    assert answer.outcome == "ok"
    assert await results_of(astore, sid) == ['gate {"x":1}']
    assert [(claimed.attempt, claimed.approved[0].hook) for claimed in worker.claimed] == [(2, "")]
    assert await faults_of(astore, sid) == []
    assert await leftovers(astore) == {}
