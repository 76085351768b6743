"""Calls that wait for others, and references to results, over whole sessions."""

from __future__ import annotations

import json
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
    orchestrating,
    run_ended,
    shown,
)
from tests.integration.fake_worker import FakeWorker, done, fake_worker, gated, offer
from tests.integration.test_loop_registry import registry
from tests.integration.test_loop_waits import messages_of, turns

from errands_config.settings import Settings
from errands_config.wire import CallState, Claimed, Outcome, ToolOffer
from errands_orchestrator import sessions
from errands_orchestrator.models.model import Reply

REFER = registry(handles=True, references=True)


def work(name: str, **arguments: Any) -> Any:
    return call("work", f"call_{name}", task_handle=name, **arguments)


def result(name: str, path: str | None = None) -> dict[str, str]:
    return {"$result": name} | ({} if path is None else {"path": path})


async def failing_b(worker: FakeWorker, call: Claimed) -> Outcome:
    """B fails; every other call gives back what it was asked."""
    if '"b"' in call.arguments:
        return Outcome(state=CallState.FAILED, error="b broke")
    return done(call.arguments)


def ran(worker: FakeWorker) -> list[Any]:
    return [json.loads(one.arguments) for one in worker.claimed]


async def test_of_a_chain_whose_middle_fails_the_end_is_skipped_and_who_depends_on_the_first_alone_runs(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    model = turns(
        calls(
            work("a", x="a"),
            work("b", x=["b", result("a")]),
            work("c", x=result("b")),
            work("d", x="d", depends_on=["a"]),
        )
    )
    async with orchestrating(settings, model), fake_worker(settings, tool=failing_b) as worker:
        sid = await begin(astore, **REFER)
        await run_ended(astore, sid)
    assert [one["x"] for one in ran(worker)] == ["a", ["b", '{"x":"a"}'], "d"]
    said = await shown(astore, sid)
    assert "not run: it depends on b, which failed" in said
    assert len(await events_of(astore, sid, "tool_call.skipped")) == 1
    assert await faults_of(astore, sid) == []


async def test_a_chain_costs_no_turn_of_the_model(settings: Settings, astore: redis.asyncio.Redis) -> None:
    model = turns(calls(work("a", x=1), work("b", depends_on=["a"]), work("c", depends_on=["call_b"], x=3)))
    async with orchestrating(settings, model), fake_worker(settings) as worker:
        sid = await begin(astore, asyncYieldStrategy="yieldWhenAllDone", **REFER)
        await run_ended(astore, sid)
    assert ran(worker) == [{"x": 1}, {}, {"x": 3}]
    assert len(await events_of(astore, sid, "turn.completed")) == 2


async def test_many_are_waited_for_by_one(settings: Settings, astore: redis.asyncio.Redis) -> None:
    names = [f"n{number}" for number in range(40)]
    gather = work("all", x=[result(name, "x") for name in names], depends_on=names)
    model = turns(calls(gather, *(work(name, x=number) for number, name in enumerate(names))))
    async with orchestrating(settings, model), fake_worker(settings, tool=failing_b) as worker:
        sid = await begin(astore, maxConcurrency=100, **REFER)
        await run_ended(astore, sid)
    assert ran(worker)[-1] == {"x": list(range(40))}
    assert await faults_of(astore, sid) == []


async def test_what_depends_on_a_call_of_an_earlier_turn_runs_at_once_or_never(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    model = turns(
        calls(work("a", x="a"), work("b", x="b")),
        calls(work("c", x=result("a", "x")), work("d", depends_on=["b"]), work("e", depends_on=["nobody"])),
    )
    async with orchestrating(settings, model), fake_worker(settings, tool=failing_b) as worker:
        sid = await begin(astore, asyncYieldStrategy="yieldWhenAllDone", **REFER)
        await run_ended(astore, sid)
    assert ran(worker) == [{"x": "a"}, {"x": "b"}, {"x": "a"}]
    said = await messages_of(astore, sid)
    assert said["call_d"] == "not run: it depends on b, which failed"
    assert said["call_e"] == "invalid arguments: depends_on: no call of this conversation is named 'nobody'"


async def test_a_circle_is_refused_at_once(settings: Settings, astore: redis.asyncio.Redis) -> None:
    model = turns(calls(work("a", depends_on=["b"]), work("b", depends_on=["a"]), work("c", depends_on=["b"])))
    async with orchestrating(settings, model), fake_worker(settings) as worker:
        sid = await begin(astore, **REFER)
        await run_ended(astore, sid)
    assert worker.claimed == []
    said = await messages_of(astore, sid)
    assert "these calls wait for one another" in said["call_a"]
    assert said["call_c"] == "not run: it depends on b, which failed"


async def test_a_path_that_leads_nowhere_skips_the_call(settings: Settings, astore: redis.asyncio.Redis) -> None:
    model = turns(calls(work("a", x=1), work("b", x=result("a", "x.0"))))
    async with orchestrating(settings, model), fake_worker(settings, tool=failing_b) as worker:
        sid = await begin(astore, **REFER)
        await run_ended(astore, sid)
    assert len(worker.claimed) == 1
    assert "not run: the path 'x.0' leads nowhere in the result of a" in await shown(astore, sid)


async def test_honest_data_with_such_a_key_passes_untouched(settings: Settings, astore: redis.asyncio.Redis) -> None:
    honest: list[Any] = [
        {"$result": "a", "more": 1}, {"$result": 7}, {"$result": "a", "path": 3}, {"path": "x"}, {"result": "a"},
    ]  # fmt: skip
    model = turns(calls(work("b", x=honest)))
    async with orchestrating(settings, model), fake_worker(settings) as worker:
        sid = await begin(astore, **REFER)
        await run_ended(astore, sid)
    assert ran(worker) == [{"x": honest}]


async def test_without_references_switched_on_they_are_data(settings: Settings, astore: redis.asyncio.Redis) -> None:
    model = turns(calls(call("work", "call_a", x=result("a"))))
    async with orchestrating(settings, model), fake_worker(settings) as worker:
        sid = await begin(astore, **registry())
        await run_ended(astore, sid)
    assert ran(worker) == [{"x": {"$result": "a"}}]


TEXT = '{"type":"object","properties":{"x":{"type":"string"}}}'


def typed(name: str, schema: str = TEXT) -> ToolOffer:
    return offer(name, parameters=schema)


async def test_what_a_reference_brings_is_seen_by_the_wrappers(settings: Settings, astore: redis.asyncio.Redis) -> None:
    model = turns(calls(work("a", x="rm -rf /"), work("b", x=result("a", "x"))))
    dangerous = {
        "match": {"args": {"path": "x", "glob": "*rm -rf*"}},
        "decorators": [{"tag": "label", "label": "dangerous"}],
    }
    policy = {"default": {"tag": "runAsync"}, "wrappers": [dangerous]}
    async with orchestrating(settings, model), fake_worker(settings, tool=failing_b) as worker:
        sid = await begin(astore, toolCallPolicyConfig=policy, **REFER)
        await run_ended(astore, sid)
    assert [one.policy.label for one in worker.claimed] == ["dangerous", "dangerous"]


async def test_what_a_reference_brings_is_held_against_the_schema(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    model = turns(calls(work("a", x=5), call("typed", "call_b", task_handle="b", x=result("a", "x"))))
    policy = {"default": {"tag": "runAsync"}}
    async with orchestrating(settings, model), fake_worker(settings, tool=failing_b) as worker:
        sid = await begin(astore, "go", "work", typed("typed"), toolCallPolicyConfig=policy, **REFER)
        await run_ended(astore, sid)
    assert len(worker.claimed) == 1
    assert "invalid arguments: at /x: 5 is not of type" in await shown(astore, sid)


async def test_a_cancelled_call_takes_those_with_it_that_depend_on_it(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    model = turns(
        calls(work("a", x=1), work("b", depends_on=["a"]), work("c", depends_on=["b"])),
    )
    async with orchestrating(settings, model), fake_worker(settings, tool=gated) as worker:
        sid = await begin(astore, **REFER)
        await event_came(astore, sid, "tool_call.started")
        worker.end('{"x":1}', Outcome(state=CallState.CANCELLED, by="operator"))
        await run_ended(astore, sid)
    said = await shown(astore, sid)
    assert "it depends on a, which cancelled" in said
    assert "it depends on b, which skipped" in said
    assert await faults_of(astore, sid) == []


async def test_equal_calls_are_found_once_their_references_are_filled_in(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    slow = {"tag": "runAsync", "attachSeconds": 0}
    model = turns(calls(work("a", x="a"), call("slow", "call_s", task_handle="s", x="a")),
                  calls(call("slow", "call_t", task_handle="t", x=result("a", "x"))))  # fmt: skip

    async def slow_waits(worker: FakeWorker, call: Claimed) -> Outcome:
        return await gated(worker, call) if call.tool == "slow" else done(call.arguments)

    more = registry(handles=True, references=True, onDuplicate="attach")
    policy = {"default": slow}
    async with orchestrating(settings, model), fake_worker(settings, tool=slow_waits) as worker:
        sid = await begin(astore, toolCallPolicyConfig=policy, **more)
        await event_came(astore, sid, "turn.completed", 3)
        worker.end('{"x":"a"}', done("slow one"))
        await run_ended(astore, sid)
    assert [one.tool for one in worker.claimed].count("slow") == 1
    assert '{"status":"completed","same_as":"call_s"}' in await shown(astore, sid)


@pytest.mark.parametrize("restart", ["orchestrator", "none"])
async def test_a_call_that_waits_is_started_by_whoever_owns_the_session_when_its_time_comes(
    restart: str, settings: Settings, astore: redis.asyncio.Redis
) -> None:
    model = turns(calls(work("a", x="a"), work("b", x=["then", result("a", "x")])))
    async with fake_worker(settings, tool=gated_a) as worker:
        async with orchestrating(settings, model):
            sid = await begin(astore, **REFER)
            await event_came(astore, sid, "tool_call.started")
        async with orchestrating(settings, model):
            worker.end('{"x":"a"}', done('{"x":"a"}'))
            await run_ended(astore, sid)
    assert ran(worker) == [{"x": "a"}, {"x": ["then", "a"]}]
    assert await faults_of(astore, sid) == []


async def gated_a(worker: FakeWorker, call: Claimed) -> Outcome:
    return await gated(worker, call) if call.arguments == '{"x":"a"}' else done(call.arguments)


async def test_a_run_that_waits_for_a_deferred_call_and_what_depends_on_it_is_told_to_be_blocked(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    model = turns(calls(call("gate", "call_g", x=1), work("b", x=result("call_g"))), Reply("waiting"))
    policy = {
        "default": {"tag": "runAsync"},
        "rules": [{"tool": "gate", "disposition": {"tag": "defer", "reason": "ask", "attached": False}}],
    }
    async with orchestrating(settings, model), fake_worker(settings):
        sid = await begin(astore, "go", "work", "gate", toolCallPolicyConfig=policy, **REFER)
        await event_came(astore, sid, "run.blocked")
        assert await sessions.status_of(astore, sid) == "waiting_external"
    placeholder = json.loads((await messages_of(astore, sid))["call_b"])
    assert (placeholder["status"], placeholder["detached"]) == ("pending", "waiting for outside")
