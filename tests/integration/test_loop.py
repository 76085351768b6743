"""One orchestrator with a real store and a small worker: from a prompt to the final answer, and what lies between."""

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
    log_of,
    orchestrating,
    run_ended,
    shown,
)
from tests.integration.fake_worker import FakeWorker, done, fake_worker, gated
from tests.waiting import aeventually

from errands_config.settings import Settings
from errands_config.wire import CallState, Claimed, Outcome
from errands_orchestrator import sessions
from errands_orchestrator.calls import call_rows
from errands_orchestrator.models.model import Reply
from errands_orchestrator.models.seen import SeenMessage
from errands_orchestrator.session import AssistantEntry, ToolsEntry, UserEntry


def new_texts(messages: Sequence[SeenMessage]) -> str:
    """What came since the model's last answer."""
    last = max((n for n, message in enumerate(messages) if message.role == "assistant"), default=0)
    return "\n".join(message.text for message in messages[last + 1 :])


async def test_a_prompt_without_tools_is_answered(settings: Settings, astore: redis.asyncio.Redis) -> None:
    sid = await begin(astore, "hello")

    async with orchestrating(settings, lambda messages: Reply(f"you said: {messages[-1].text}")):
        await run_ended(astore, sid)

    assert [entry.text for entry in await log_of(astore, sid) if isinstance(entry, UserEntry | AssistantEntry)] == [
        "hello",
        "you said: hello",
    ]
    kinds = [event["kind"] for event in await events_of(astore, sid)]
    assert kinds == ["run.started", "turn.started", "turn.completed", "run.ended"]
    assert await leftovers(astore) == {}


async def test_a_background_result_comes_as_a_notice_after_its_placeholder(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    sid = await begin(astore)

    def answer(messages: Sequence[SeenMessage]) -> Reply:
        if len(messages) == 2:
            return calls(call("work", "fast", x=1), call("slow", "late", x=2))
        return Reply("done")

    async with fake_worker(settings, "work", "slow", tool=gated) as worker, orchestrating(settings, answer):
        worker.end('{"x":1}', done("fast result"))
        await event_came(astore, sid, "turn.completed", 2)
        worker.end('{"x":2}', done("late result"))
        await run_ended(astore, sid)

    entries = await log_of(astore, sid)
    [tools] = [entry for entry in entries if isinstance(entry, ToolsEntry)]
    assert [(message.text if not message.placeholder else "placeholder") for message in tools.messages] == [
        "fast result",
        "placeholder",
    ]
    notice = [entry.text for entry in entries if isinstance(entry, UserEntry)][-1]
    assert notice.endswith("tool_call_id late (slow) completed:\nlate result")
    assert await faults_of(astore, sid) == []
    assert await leftovers(astore) == {}


async def test_calls_that_are_waited_for_run_one_after_another_in_call_order(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    sid = await begin(astore)
    started: list[str] = []

    async def tool(worker: FakeWorker, claimed: Claimed) -> Outcome:
        started.append(claimed.arguments)
        assert sum(one.arguments in started for one in worker.claimed) == len(worker.finished) + 1
        return done(claimed.arguments)

    def answer(messages: Sequence[SeenMessage]) -> Reply:
        return calls(*(call("wait", x=n) for n in range(4))) if len(messages) == 2 else Reply("done")

    async with fake_worker(settings, "wait", tool=tool), orchestrating(settings, answer):
        await run_ended(astore, sid)

    assert started == [f'{{"x":{n}}}' for n in range(4)]
    assert await faults_of(astore, sid) == []


async def test_a_message_of_the_user_during_a_model_call_is_delivered_once_in_the_next_request(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    sid = await begin(astore)
    asked, may_answer = asyncio.Event(), asyncio.Event()

    async def answer(messages: Sequence[SeenMessage]) -> Reply:
        asked.set()
        await may_answer.wait()
        return Reply("heard: " + messages[-1].text)

    async with orchestrating(settings, answer):
        await asked.wait()
        await sessions.send(astore, sid, "one more thing")
        may_answer.set()
        await event_came(astore, sid, "turn.completed", 2)
        await run_ended(astore, sid)

    said = [entry.text for entry in await log_of(astore, sid) if isinstance(entry, AssistantEntry)]
    assert said == ["heard: go", "heard: one more thing"]


async def test_stopping_the_run_ends_the_model_call_and_the_calls_that_are_open(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    sid = await begin(astore)
    asked_again, ended_early = asyncio.Event(), asyncio.Event()

    async def answer(messages: Sequence[SeenMessage]) -> Reply:
        if len(messages) == 2:
            return calls(call("work", "a", x=1), call("slow", "b", x=2))
        asked_again.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended_early.set()
        return Reply("never")

    async with fake_worker(settings, "work", "slow", tool=gated) as worker, orchestrating(settings, answer):
        worker.end('{"x":1}', done("fine"))
        await asked_again.wait()
        await sessions.control(astore, sid, "stopRun")
        await asyncio.wait_for(ended_early.wait(), 5)
        await run_ended(astore, sid)
        await worker.beat()
        assert list(worker.wishes.values()) == ["cancel"]
        worker.end('{"x":2}', Outcome(state=CallState.CANCELLED))
        await event_came(astore, sid, "tool_call.cancelled")

    [ended] = await events_of(astore, sid, "run.ended")
    assert ended["status"] == "cancelled"
    [cancelled] = await events_of(astore, sid, "tool_call.cancelled")
    assert (cancelled["by"], cancelled["reason"]) == ("user", "run cancelled")


async def test_a_result_too_large_for_mail_is_read_from_its_record(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    sid = await begin(astore)
    large = "é" * 20_000

    async def tool(worker: FakeWorker, claimed: Claimed) -> Outcome:
        return done(large)

    def answer(messages: Sequence[SeenMessage]) -> Reply:
        return calls(call("wait", x=1)) if len(messages) == 2 else Reply("done")

    async with fake_worker(settings, "wait", tool=tool), orchestrating(settings, answer):
        await run_ended(astore, sid)

    assert large in await shown(astore, sid)


@pytest.mark.parametrize("number", [100, 250])
async def test_a_turn_of_many_calls_is_recorded_in_slices_and_answered_whole(
    number: int, settings: Settings, astore: redis.asyncio.Redis
) -> None:
    sid = await begin(astore, maxConcurrency=300, asyncYieldStrategy="yieldWhenAllDone")

    def answer(messages: Sequence[SeenMessage]) -> Reply:
        return calls(*(call("work", x=n) for n in range(number))) if len(messages) == 2 else Reply("done")

    async with fake_worker(settings, "work") as worker, orchestrating(settings, answer):
        await run_ended(astore, sid)

    [tools] = [entry for entry in await log_of(astore, sid) if isinstance(entry, ToolsEntry)]
    assert [message.text for message in tools.messages] == [f'work {{"x":{n}}}' for n in range(number)]
    assert len(worker.claimed) == number
    assert worker.refused == []
    assert await faults_of(astore, sid) == []
    assert await leftovers(astore) == {}


async def test_background_calls_hold_no_more_slots_than_the_agent_allows(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    sid = await begin(astore, maxConcurrency=2, asyncYieldStrategy="yieldWhenAllDone")

    def answer(messages: Sequence[SeenMessage]) -> Reply:
        return calls(*(call("work", x=n) for n in range(6))) if len(messages) == 2 else Reply("done")

    async with fake_worker(settings, "work", tool=gated) as worker, orchestrating(settings, answer):
        for n in range(6):
            await aeventually(lambda: claimed(worker, min(n + 2, 6)))  # noqa: B023
            assert await queued(astore, sid) == 0
            worker.end(f'{{"x":{n}}}', done("fine"))
        await run_ended(astore, sid)

    assert [one.arguments for one in worker.claimed] == [f'{{"x":{n}}}' for n in range(6)]


async def claimed(worker: FakeWorker, number: int) -> bool:
    return len(worker.claimed) == number


async def queued(store: redis.asyncio.Redis, sid: str) -> int:
    """How many calls could be claimed now."""
    states = [row.state for row in await call_rows(store, await sessions.call_ids(store, sid))]
    return sum(state is CallState.QUEUED for state in states)


async def test_a_session_whose_agent_is_gone_is_paused_with_the_cause_and_goes_on_when_it_is_back(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    sid = await begin(astore)
    [agent_key] = await astore.keys("errands:agent:*")
    await astore.rename(agent_key, "elsewhere")

    async with orchestrating(settings, lambda messages: Reply("back")):
        await event_came(astore, sid, "run.paused")
        await aeventually(lambda: has_status(astore, sid, "paused"))
        assert "is not in the store any more" in (await sessions.row(astore, sid)).cause
        await sessions.send(astore, sid, "meanwhile")
        await sessions.control(astore, sid, "resume")
        await event_came(astore, sid, "run.paused", 2)

        await astore.rename("elsewhere", agent_key)
        await sessions.control(astore, sid, "resume")
        await run_ended(astore, sid, times=1)
        await aeventually(lambda: has_said(astore, sid, "meanwhile"))

    assert await leftovers(astore) == {}


async def has_status(store: redis.asyncio.Redis, sid: str, status: str) -> bool:
    return await sessions.status_of(store, sid) == status


async def has_said(store: redis.asyncio.Redis, sid: str, text: str) -> bool:
    return text in await shown(store, sid)
