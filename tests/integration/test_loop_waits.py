"""`wait-for-tool-calls` over whole sessions: what it waits for, what ends it, and where the results stand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import redis.asyncio
from tests.integration.errand import begin, call, calls, event_came, faults_of, log_of, orchestrating, run_ended, shown
from tests.integration.fake_worker import done, fake_worker, gated
from tests.waiting import aeventually

from errands_config.settings import Settings
from errands_orchestrator import sessions
from errands_orchestrator.models.model import ModelCall, Reply
from errands_orchestrator.models.seen import SeenMessage
from errands_orchestrator.session import ToolsEntry

WAIT = "wait-for-tool-calls"
ONE, TWO = '{"x":1}', '{"x":2}'
WAITING: dict[str, Any] = {
    "builtinToolboxes": [{"tag": "SystemToolbox", "contents": {"Capabilities": [WAIT]}}],
    "toolCallPolicyConfig": {
        "default": {"tag": "runSync"},
        "rules": [
            {"tool": "work", "disposition": {"tag": "runAsync"}},
            {"tool": "slow", "disposition": {"tag": "runAsync", "attachSeconds": 0}},
        ],
    },
}


def turns(*replies: Reply) -> Any:
    """A model that says these one after another, and then ends its turn."""

    def answer(messages: Sequence[SeenMessage]) -> Reply:
        spoken = sum(message.role == "assistant" for message in messages)
        return replies[spoken] if spoken < len(replies) else Reply("all is told")

    return answer


def waiting(*ids: str, **more: Any) -> ModelCall:
    return call(WAIT, "call_wait", tool_call_ids=list(ids), **more)


async def messages_of(store: redis.asyncio.Redis, sid: str) -> dict[str, str]:
    entries = await log_of(store, sid)
    return {
        message.id: message.text for entry in entries if isinstance(entry, ToolsEntry) for message in entry.messages
    }


async def test_a_wait_in_the_message_of_its_calls_is_answered_behind_their_results(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    model = turns(calls(waiting("call_a", "call_b"), call("work", "call_a", x=1), call("work", "call_b", x=2)))
    async with orchestrating(settings, model), fake_worker(settings, tool=gated) as worker:
        sid = await begin(astore, **WAITING)
        await event_came(astore, sid, "tool_call.started", 2)
        worker.end(ONE, done("first"))
        await event_came(astore, sid, "tool_call.completed")
        assert await sessions.length_of(astore, sid) == 2
        worker.end(TWO, done("second"))
        await run_ended(astore, sid)

    messages = await messages_of(astore, sid)
    assert (messages["call_a"], messages["call_b"]) == ("first", "second")
    assert json.loads(messages["call_wait"]) == {
        "status": "completed", "completed_tool_call_ids": ["call_a", "call_b"], "pending_tool_call_ids": [],
    }  # fmt: skip
    assert await faults_of(astore, sid) == []


async def test_results_of_earlier_messages_stand_in_the_answer_and_nowhere_else(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    model = turns(calls(call("slow", "call_a", x=1), call("slow", "call_b", x=2)), calls(waiting("call_a", mode="any")))
    async with orchestrating(settings, model), fake_worker(settings, tool=gated) as worker:
        sid = await begin(astore, **WAITING)
        await event_came(astore, sid, "turn.completed", 2)
        worker.end(ONE, done("first"))
        await event_came(astore, sid, "turn.completed", 3)
        worker.end(TWO, done("second"))
        await run_ended(astore, sid)

    answer = (await messages_of(astore, sid))["call_wait"]
    assert answer.startswith('{"results":{"call_a":"first"},"status":"completed"')
    said = await shown(astore, sid)
    assert (said.count("first"), said.count("second")) == (1, 1)
    assert "tool_call_id call_a (slow) completed: result already given by wait-for-tool-calls" in said
    assert await faults_of(astore, sid) == []


async def test_one_of_several_is_enough_where_any_is_waited_for(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    model = turns(
        calls(call("slow", "call_a", x=1), call("slow", "call_b", x=2)), calls(waiting("call_a", "call_b", mode="any"))
    )
    async with orchestrating(settings, model), fake_worker(settings, tool=gated) as worker:
        sid = await begin(astore, **WAITING)
        await event_came(astore, sid, "turn.completed", 2)
        worker.end(TWO, done("second"))
        await event_came(astore, sid, "turn.completed", 3)
        worker.end(ONE, done("first"))
        await run_ended(astore, sid)

    answer = json.loads((await messages_of(astore, sid))["call_wait"])
    assert answer == {
        "results": {"call_b": "second"}, "status": "completed", "completed_tool_call_ids": ["call_b"],
        "pending_tool_call_ids": ["call_a"],
    }  # fmt: skip


async def test_a_wait_that_is_over_time_says_so_and_the_calls_go_on(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    model = turns(calls(call("slow", "call_a", x=1)), calls(waiting("call_a", timeout_seconds=0.2)))
    async with orchestrating(settings, model), fake_worker(settings, tool=gated) as worker:
        sid = await begin(astore, **WAITING)
        await event_came(astore, sid, "turn.completed", 3)
        worker.end(ONE, done("first"))
        await run_ended(astore, sid)

    answer = json.loads((await messages_of(astore, sid))["call_wait"])
    assert answer == {"status": "timed_out", "completed_tool_call_ids": [], "pending_tool_call_ids": ["call_a"]}
    assert (await shown(astore, sid)).count("first") == 1


async def test_a_person_ends_a_wait(settings: Settings, astore: redis.asyncio.Redis) -> None:
    model = turns(calls(call("slow", "call_a", x=1)), calls(waiting("call_a", timeout_seconds=300)))
    async with orchestrating(settings, model), fake_worker(settings, tool=gated) as worker:
        sid = await begin(astore, **WAITING)
        await event_came(astore, sid, "turn.completed", 2)

        async def parked() -> bool:
            return await sessions.status_of(astore, sid) == "waiting_calls"

        await aeventually(parked, saying="the wait costs no owner")
        await sessions.send(astore, sid, "are you there?")
        await event_came(astore, sid, "turn.completed", 3)
        worker.end(ONE, done("first"))
        await run_ended(astore, sid)

    answer = json.loads((await messages_of(astore, sid))["call_wait"])
    assert (answer["status"], answer["woken_by"]) == ("interrupted", "user")


async def test_what_was_delivered_before_and_what_is_no_call_is_told(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    model = turns(calls(call("wait", "call_a", x=1)), calls(waiting("call_a", "call_of_nobody")))
    async with orchestrating(settings, model), fake_worker(settings) as _:
        sid = await begin(astore, **WAITING)
        await run_ended(astore, sid)

    answer = json.loads((await messages_of(astore, sid))["call_wait"])
    assert answer == {
        "status": "completed", "completed_tool_call_ids": ["call_a"], "pending_tool_call_ids": [],
        "already_delivered": ["call_a"], "not_found": ["call_of_nobody"],
    }  # fmt: skip
