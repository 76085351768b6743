"""Calls that wait for others, where somebody outside ends them, or the owner of the session changes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

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
from tests.integration.test_loop_deferred import DENIED, outside
from tests.integration.test_loop_dependencies import REFER, ran, result, work
from tests.integration.test_loop_registry import heeding, registry
from tests.integration.test_loop_relations import ALL_DONE, echoing
from tests.integration.test_loop_waits import messages_of, turns
from tests.waiting import aeventually

from errands_config import keys
from errands_config.scripts import deferred
from errands_config.scripts.script import arun
from errands_config.settings import Settings
from errands_config.wire import CallState, Outcome
from errands_orchestrator import sessions
from errands_orchestrator.calls import place_of
from errands_orchestrator.models.model import Reply
from errands_orchestrator.models.seen import SeenMessage


def gate_policy(**more: Any) -> dict[str, Any]:
    gate = {"tag": "defer", "reason": "ask", **more}
    return {"default": {"tag": "runAsync"}, "rules": [{"tool": "gate", "disposition": gate}]}


async def call_of(store: redis.asyncio.Redis, sid: str, handle: str) -> str:
    return str(await store.hget(keys.handles(sid), handle))


@pytest.mark.parametrize(
    ("outcome", "why"), [(DENIED, "denied"), (Outcome(state=CallState.FAILED, error="no"), "failed"), (None, "expired")]
)
async def test_what_depends_on_a_deferred_call_is_skipped_with_its_end(
    outcome: Outcome | None, why: str, settings: Settings, astore: redis.asyncio.Redis
) -> None:
    model = turns(calls(call("gate", "call_g", x=1), work("b", x=result("call_g")), work("c", depends_on=["b"])))
    policy = gate_policy(attached=False, **({} if outcome else {"expiresSeconds": 1}))
    async with orchestrating(settings, model), fake_worker(settings) as worker:
        sid = await begin(astore, "go", "work", "gate", toolCallPolicyConfig=policy, **REFER)
        await event_came(astore, sid, "tool_call.deferred")
        [gate, *_] = await sessions.call_ids(astore, sid)
        if outcome:
            assert await outside(astore, gate, outcome) == "ok"
        await run_ended(astore, sid)
    assert worker.claimed == []
    assert f"it depends on call_g, which {why}" in await shown(astore, sid)
    assert await faults_of(astore, sid) == []
    assert await leftovers(astore) == {}


async def test_leave_is_asked_for_what_will_run_and_not_for_the_reference(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    model = turns(calls(work("a", x="rm"), call("gate", "call_g", x=result("a", "x")), work("b", x=result("call_g"))))
    async with orchestrating(settings, model), fake_worker(settings, tool=echoing) as worker:
        sid = await begin(astore, "go", "work", "gate", toolCallPolicyConfig=gate_policy(), **(ALL_DONE | REFER))
        gate = (await event_came(astore, sid, "tool_call.deferred"))[0]["tool_call_id"]
        assert await astore.hget(keys.call(gate), "arguments") == '{"x":"rm"}'
        place = await place_of(astore, gate)
        assert place
        await arun(astore, deferred.approve(place, 1, shown='{"x":"rm"}'))
        await run_ended(astore, sid)
    assert ran(worker) == [{"x": "rm"}, {"x": "rm"}, {"x": '{"x":"rm"}'}]
    assert await faults_of(astore, sid) == []


async def test_a_question_may_be_waited_for_and_referred_to(settings: Settings, astore: redis.asyncio.Redis) -> None:
    boxes = [{"tag": "SystemToolbox", "contents": {"Capabilities": ["ask-user"]}}]
    asked = call("ask-user", "call_q", task_handle="q", question="Which?")
    model = turns(calls(work("b", x=result("q", "answer")), asked))
    async with orchestrating(settings, model), fake_worker(settings) as worker:
        agent: dict[str, Any] = REFER | {"builtinToolboxes": boxes}
        sid = await begin(astore, **agent)
        await event_came(astore, sid, "tool_call.deferred")
        answer = Outcome(state=CallState.COMPLETED, result='{"answered":true,"answer":"that"}', result_type="json")
        assert await outside(astore, await call_of(astore, sid, "q"), answer) == "ok"
        await run_ended(astore, sid)
    assert ran(worker) == [{"x": "that"}]
    assert await faults_of(astore, sid) == []


@pytest.mark.parametrize("on_end", ["cancel", "detach", "wait"])
async def test_calls_that_wait_end_with_the_run_as_the_others_do(
    on_end: str, settings: Settings, astore: redis.asyncio.Redis
) -> None:
    policy = {"default": {"tag": "runAsync", "attachSeconds": 0}}
    model = turns(calls(work("a", x=1), work("b", x=2, depends_on=["a"]), work("c", x=1)))
    more = registry(handles=True, onDuplicate="attach")
    async with orchestrating(settings, model), fake_worker(settings, tool=heeding) as worker:
        sid = await begin(astore, onRunEnd=on_end, toolCallPolicyConfig=policy, **more)
        await event_came(astore, sid, "turn.completed", 2)
        if on_end == "cancel":
            await event_came(astore, sid, "tool_call.cancelled", 1)
        else:
            await event_came(astore, sid, "tool_call.started")
            worker.end('{"x":1}', done("one"))
            await event_came(astore, sid, "tool_call.started", 2)
            worker.end('{"x":2}', done("two"))
        await run_ended(astore, sid)
        await aeventually(lambda: ended(astore, sid, 3))
    assert await faults_of(astore, sid) == []
    assert await leftovers(astore) == {}


async def ended(store: redis.asyncio.Redis, sid: str, count: int) -> bool:
    kinds = [event["kind"].removeprefix("tool_call.") for event in await events_of(store, sid)]
    return sum(kind in set(CallState) and CallState(kind).is_final for kind in kinds) == count


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_takeover_around_the_commit_starts_one_job(
    when: str, settings: Settings, astore: redis.asyncio.Redis
) -> None:
    robbed: list[str] = []
    answers = calls(
        work("a", x=1, idempotency_key="k"), work("b", x=1, idempotency_key="k"), work("c", x=1),
        work("d", x=[result("a", "x"), result("c", "x")]),
    )  # fmt: skip

    async def model(messages: Sequence[SeenMessage]) -> Reply:
        if any(message.role == "tool" for message in messages):
            return Reply("done")
        if not robbed and when == "before":
            robbed.append("")
            [sid] = [row.id for row in await sessions.rows(astore)]
            await astore.hset(keys.session(sid), "token", "a robber's")
            await astore.zadd(keys.DUE, {sid: 0})
        return answers

    more = registry(handles=True, references=True, onDuplicate="attach")
    async with fake_worker(settings, tool=gated) as worker:
        async with orchestrating(settings, model):
            sid = await begin(astore, **(ALL_DONE | more))
            await event_came(astore, sid, "tool_call.started")
        async with orchestrating(settings, model):
            worker.end('{"x":1}', done('{"x":1}'))
            worker.end('{"x":[1,1]}', done("last"))
            await run_ended(astore, sid)
    assert ran(worker) == [{"x": 1}, {"x": [1, 1]}]
    assert len(await sessions.call_ids(astore, sid)) == 4
    assert json.loads((await messages_of(astore, sid))["call_b"])["same_as"] == "call_a"
    assert await faults_of(astore, sid) == []
    assert await leftovers(astore) == {}


@pytest.mark.parametrize("strategy", ["yieldWhenAllDone", "yieldOnAnyProgress"])
async def test_a_paused_session_still_brings_its_chains_to_their_end(
    strategy: str, settings: Settings, astore: redis.asyncio.Redis
) -> None:
    model = turns(calls(work("a", x=1), work("b", x=result("a", "x")), work("c", depends_on=["b"], x=3)))
    async with orchestrating(settings, model), fake_worker(settings, tool=gated) as worker:
        sid = await begin(astore, **(REFER | {"asyncYieldStrategy": strategy}))
        await event_came(astore, sid, "tool_call.started")
        await sessions.control(astore, sid, "pause")
        await event_came(astore, sid, "run.paused")
        worker.end('{"x":1}', done('{"x":2}'))
        worker.end('{"x":2}', done("two"))
        worker.end('{"x":3}', done("three"))
        await event_came(astore, sid, "tool_call.completed", 3)
        await sessions.control(astore, sid, "resume")
        await run_ended(astore, sid)
    assert ran(worker) == [{"x": 1}, {"x": 2}, {"x": 3}]
    assert await faults_of(astore, sid) == []
