"""Handles, idempotency keys and equal calls over whole sessions: what the model names, and what runs."""

from __future__ import annotations

import asyncio
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
from tests.integration.test_loop_waits import WAIT, messages_of, turns
from tests.waiting import aeventually

from errands_config.errors import ConfigError
from errands_config.settings import Settings
from errands_config.wire import CallState, Claimed, Outcome
from errands_orchestrator import sessions
from errands_orchestrator.models.model import Reply

STATUS, RUNNING, CANCEL = "get-tool-call-status", "list-running-tool-calls", "cancel-tool-call"
ALL = {"tag": "SystemToolbox", "contents": {"Capabilities": [WAIT, STATUS, RUNNING, CANCEL]}}


def registry(**written: Any) -> dict[str, Any]:
    return {"registry": written, "builtinToolboxes": [ALL]}


NAMED = registry(handles=True)


async def heeding(worker: FakeWorker, call: Claimed) -> Outcome:
    """A tool that ends when the test says so, or when it is asked to."""
    gate = worker.gates.setdefault(call.arguments, asyncio.get_running_loop().create_future())
    while call.call not in worker.wishes:
        await asyncio.wait([gate], timeout=0.02)
        if gate.done():
            return gate.result()
    return Outcome(state=CallState.CANCELLED)


async def test_a_call_is_asked_about_waited_for_and_cancelled_by_its_handle(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    model = turns(
        calls(
            call("work", "call_a", task_handle="first", x=1),
            call("work", "call_b", task_handle="second", x=2),
            call(STATUS, "call_s", tool_call_id="second"),
            call(RUNNING, "call_r"),
            call(CANCEL, "call_c", tool_call_id="second"),
            call(WAIT, "call_w", task_handles=["first", "second"]),
        )
    )
    async with orchestrating(settings, model), fake_worker(settings, tool=heeding) as worker:
        sid = await begin(astore, **NAMED)
        await event_came(astore, sid, "tool_call.started", 2)
        worker.end('{"x":1}', done("one"))
        await run_ended(astore, sid)

    said = {name: text for name, text in (await messages_of(astore, sid)).items() if name != "call_a"}
    assert json.loads(said["call_s"])["task_handle"] == "second"
    assert {line["task_handle"] for line in json.loads(said["call_r"])["running"]} <= {"first", "second"}
    assert json.loads(said["call_c"])["cancelled"] is True
    waited = json.loads(said["call_w"])
    assert waited == {"status": "completed", "completed_task_handles": ["first", "second"]}
    assert await faults_of(astore, sid) == []


async def test_the_tool_never_sees_the_arguments_that_are_ours(settings: Settings, astore: redis.asyncio.Redis) -> None:
    sent = call("work", "call_a", task_handle="first", idempotency_key="k", depends_on=[], x=1)
    async with orchestrating(settings, turns(calls(sent))), fake_worker(settings) as worker:
        sid = await begin(astore, **NAMED)
        await run_ended(astore, sid)
    assert [one.arguments for one in worker.claimed] == ['{"x":1}']


async def test_a_placeholder_names_the_handle(settings: Settings, astore: redis.asyncio.Redis) -> None:
    model = turns(calls(call("work", "call_a", task_handle="first", x=1), call("work", "call_b", task_handle="b", x=2)))
    async with orchestrating(settings, model), fake_worker(settings, tool=gated) as worker:
        sid = await begin(astore, **NAMED)
        await event_came(astore, sid, "tool_call.started", 2)
        worker.end('{"x":2}', done("two"))
        await event_came(astore, sid, "turn.completed", 2)
        worker.end('{"x":1}', done("one"))
        await run_ended(astore, sid)
    placeholder = json.loads((await messages_of(astore, sid))["call_a"])
    assert (placeholder["tool_call_id"], placeholder["task_handle"]) == ("call_a", "first")


async def test_a_handle_is_never_bound_twice_not_even_after_its_call_has_ended_and_everything_was_restarted(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    model = turns(
        calls(call("work", "call_a", task_handle="once", x=1)),
        Reply("first done"),
        calls(call("work", "call_b", task_handle="once", x=2), call("work", "call_c", task_handle="other", x=3)),
    )
    async with orchestrating(settings, model), fake_worker(settings):
        sid = await begin(astore, **NAMED)
        await run_ended(astore, sid)
    async with orchestrating(settings, model), fake_worker(settings) as worker:
        await sessions.send(astore, sid, "go on")
        await run_ended(astore, sid, times=2)
    assert [one.arguments for one in worker.claimed] == ['{"x":3}']
    refusal = (await messages_of(astore, sid))["call_b"]
    assert refusal == (
        "invalid arguments: task_handle: 'once' is bound to call_a (work, completed); "
        "a handle is never used twice: choose a new one"
    )


async def test_of_two_calls_in_one_message_the_first_takes_the_handle_and_a_refused_call_takes_none(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    model = turns(
        calls(
            call("work", "call_x", task_handle="h", x="no number"),
            call("work", "call_a", task_handle="h", x=1),
            call("work", "call_b", task_handle="h", x=2),
        )
    )
    async with orchestrating(settings, model), fake_worker(settings) as worker:
        sid = await begin(astore, "go", offer_with_numbers(), **NAMED)
        await run_ended(astore, sid)
    assert [one.arguments for one in worker.claimed] == ['{"x":1}']


def offer_with_numbers() -> Any:
    return offer("work").model_copy(
        update={"parameters": '{"type":"object","properties":{"x":{"type":"integer"}},"additionalProperties":false}'}
    )


async def test_a_tool_with_an_argument_of_that_name_is_a_loading_error_where_handles_are_wanted(
    astore: redis.asyncio.Redis,
) -> None:
    own = offer_with_numbers().model_copy(
        update={"parameters": '{"type":"object","properties":{"task_handle":{"type":"string"}}}'}
    )
    with pytest.raises(ConfigError, match=r"registry\.handles: tool work has an argument task_handle of its own"):
        await begin(astore, "go", own, **NAMED)


async def test_a_question_to_the_user_has_a_handle_like_any_other_call(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    asking = {"tag": "SystemToolbox", "contents": {"Capabilities": ["ask-user", STATUS]}}
    model = turns(
        calls(
            call("ask-user", "call_q", task_handle="which", question="which one?"),
            call(STATUS, "call_s", tool_call_id="which"),
        )
    )
    async with orchestrating(settings, model):
        sid = await begin(astore, registry={"handles": True}, builtinToolboxes=[asking])
        await event_came(astore, sid, "run.blocked")
    said = await messages_of(astore, sid)
    assert json.loads(said["call_q"])["task_handle"] == "which"
    assert json.loads(said["call_s"])["status"] == "deferred"


# ---- idempotency keys


async def test_a_repeated_key_answers_with_the_first_call_and_runs_nothing(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    model = turns(
        calls(call("work", "call_a", idempotency_key="k", x=1), call("work", "call_b", idempotency_key="k", x=1)),
        calls(call("work", "call_c", idempotency_key="k", x=1)),
        calls(call("work", "call_d", idempotency_key="k", x=9)),
    )
    async with orchestrating(settings, model), fake_worker(settings) as worker:
        sid = await begin(astore, **registry())
        await run_ended(astore, sid)
    assert [one.arguments for one in worker.claimed] == ['{"x":1}']
    said = await messages_of(astore, sid)
    assert said["call_b"] == '{"status":"pending","same_as":"call_a"}'
    assert said["call_c"] == '{"status":"completed","same_as":"call_a"}'
    assert said["call_d"] == (
        "invalid arguments: idempotency_key: 'k' is bound to call_a (work, completed) with other arguments; "
        "use a new key"
    )
    assert await faults_of(astore, sid) == []


# ---- equal calls


async def test_equal_calls_are_refused_where_the_agent_says_reject_and_others_do_not_collide(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    model = turns(
        calls(call("work", "call_a", x=1, y=2), call("work", "call_b", y=2, x=1), call("work", "call_c", x=2))
    )
    async with orchestrating(settings, model), fake_worker(settings) as worker:
        sid = await begin(astore, **registry(onDuplicate="reject"))
        await run_ended(astore, sid)
    assert sorted(one.arguments for one in worker.claimed) == ['{"x":1,"y":2}', '{"x":2}']
    assert (await messages_of(astore, sid))["call_b"] == (
        "not run: an equal call is in flight: call_a (work); its result will be delivered by itself"
    )


async def test_an_attached_call_ends_with_the_one_that_it_equals(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    model = turns(calls(call("work", "call_a", x=1)), calls(call("work", "call_b", x=1), call("work", "call_z", x=9)))
    slow = {"tag": "runAsync", "attachSeconds": 0}
    policy = {"default": slow}
    async with orchestrating(settings, model), fake_worker(settings, tool=gated) as worker:
        sid = await begin(astore, **registry(onDuplicate="attach"), toolCallPolicyConfig=policy)
        await event_came(astore, sid, "turn.completed", 2)
        worker.end('{"x":9}', done("nine"))
        await event_came(astore, sid, "turn.completed", 3)
        worker.end('{"x":1}', done("one"))
        await run_ended(astore, sid)
    assert len(worker.claimed) == 2
    said = await shown(astore, sid)
    assert "tool_call_id call_a (work) completed:\none" in said
    assert 'tool_call_id call_b (work) completed:\n{"status":"completed","same_as":"call_a"}' in said
    assert await faults_of(astore, sid) == []


async def test_cancelling_an_attached_call_leaves_the_other_one_alone(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    model = turns(calls(call("work", "call_a", x=1), call("work", "call_b", x=1), call(CANCEL, tool_call_id="call_b")))
    async with orchestrating(settings, model), fake_worker(settings, tool=gated) as worker:
        sid = await begin(astore, **registry(onDuplicate="attach"))
        await event_came(astore, sid, "tool_call.cancelled")
        worker.end('{"x":1}', done("one"))
        await run_ended(astore, sid)
    assert [event["kind"] for event in await events_of(astore, sid) if event["kind"].endswith("ed")].count(
        "tool_call.cancelled"
    ) == 1
    assert "one" in await shown(astore, sid)
    assert await faults_of(astore, sid) == []


async def test_a_replaced_call_is_cancelled_and_the_new_one_runs(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    model = turns(calls(call("slow", "call_a", x=1)), calls(call("slow", "call_b", x=1)))
    policy = {"default": {"tag": "runAsync", "attachSeconds": 0}}
    async with orchestrating(settings, model), fake_worker(settings, tool=heeding) as worker:
        sid = await begin(astore, **registry(onDuplicate="replace"), toolCallPolicyConfig=policy)
        await event_came(astore, sid, "tool_call.cancelled")
        worker.end('{"x":1}', done("one"))
        await run_ended(astore, sid)
    cancelled = await events_of(astore, sid, "tool_call.cancelled")
    assert [(one["provider_call_id"], one["reason"]) for one in cancelled] == [("call_a", "replaced by an equal call")]
    assert await faults_of(astore, sid) == []


async def test_an_equal_call_runs_once_it_is_confirmed(settings: Settings, astore: redis.asyncio.Redis) -> None:
    model = turns(
        calls(
            call("work", "call_a", x=1),
            call("work", "call_b", x=1),
            call("work", "call_c", x=1, confirm_duplicate=True),
        )
    )
    async with orchestrating(settings, model), fake_worker(settings) as worker:
        sid = await begin(astore, **registry(onDuplicate="confirm"))
        await run_ended(astore, sid)
    assert [one.arguments for one in worker.claimed] == ['{"x":1}', '{"x":1}']
    assert (await messages_of(astore, sid))["call_b"].endswith("call it again with confirm_duplicate")


async def test_by_name_alone_every_second_call_of_a_tool_is_equal(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    model = turns(calls(call("work", "call_a", x=1), call("work", "call_b", x=2), call("slow", "call_c", x=1)))
    async with orchestrating(settings, model), fake_worker(settings) as worker:
        sid = await begin(astore, **registry(onDuplicate="reject", duplicateScope="name"))
        await run_ended(astore, sid)
    assert len(worker.claimed) == 2
    assert await aeventually(lambda: run_is_parked(astore, sid))


async def run_is_parked(store: redis.asyncio.Redis, sid: str) -> bool:
    return await sessions.status_of(store, sid) == "idle"
