"""Many sessions on few orchestrators, and what nobody-does-anything costs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from itertools import pairwise

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
from tests.integration.fake_worker import done, fake_worker, gated
from tests.integration.script_scenes import MADE_OF
from tests.waiting import aeventually

from errands_config import keys
from errands_config.scripts import sessions as scripts
from errands_config.scripts.script import arun
from errands_config.settings import Settings
from errands_orchestrator import reads, sessions
from errands_orchestrator.models.model import Reply
from errands_orchestrator.models.seen import SeenMessage
from errands_orchestrator.ownership import AT_ONCE, LOOK_SECONDS
from errands_orchestrator.session import ToolsEntry

SESSIONS, CALLS = 200, 10


def ten_calls(messages: Sequence[SeenMessage]) -> Reply:
    return calls(*(call("work", x=n) for n in range(CALLS))) if len(messages) == 2 else Reply("done")


async def test_two_hundred_sessions_of_ten_calls_get_each_result_once(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    sids = [await begin(astore, f"session {n}", maxConcurrency=CALLS) for n in range(SESSIONS)]

    async with AsyncExitStack() as stack:
        workers = [await stack.enter_async_context(fake_worker(settings, "work", name=f"w{n}")) for n in (1, 2)]
        for _ in range(3):
            await stack.enter_async_context(orchestrating(settings, ten_calls))
        await run_ended(astore, *sids, within=60)

    assert sum(len(worker.claimed) for worker in workers) == SESSIONS * CALLS
    assert [refused for worker in workers for refused in worker.refused] == []
    assert [fault for sid in sids for fault in await faults_of(astore, sid)] == []
    assert [wrong for sid in sids if (wrong := [n for n in range(CALLS) if await results(astore, sid, n) != 1])] == []
    assert await leftovers(astore) == {}


async def results(store: redis.asyncio.Redis, sid: str, number: int) -> int:
    """How often the model was given this call's result."""
    return (await shown(store, sid)).count(f'work {{"x":{number}}}')


async def test_more_due_sessions_than_one_process_steps_at_a_time_are_all_stepped_without_a_pause(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    sids = [await begin(astore, f"session {n}") for n in range(3 * AT_ONCE)]
    started: list[float] = []
    waves = [asyncio.Event() for _ in range(3)]

    async def answer(messages: Sequence[SeenMessage]) -> Reply:
        wave = waves[len(started) // AT_ONCE]
        started.append(time.monotonic())
        if len(started) % AT_ONCE == 0:  # no further session can be in hand
            wave.set()
        await wave.wait()
        return Reply("done")

    async with orchestrating(settings, answer):
        await run_ended(astore, *sids, within=30)

    pauses = [later - sooner for sooner, later in pairwise(started)]
    assert max(pauses) < 0.8 * LOOK_SECONDS


async def test_calls_that_end_at_once_are_told_at_once_a_hundred_times_in_a_row(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    sid = await begin(astore)

    def answer(messages: Sequence[SeenMessage]) -> Reply:
        return calls(*(call("wait", x=n) for n in range(100))) if len(messages) == 2 else Reply("done")

    async with fake_worker(settings, "wait"), orchestrating(settings, answer):
        await run_ended(astore, sid)

    at = [int(event["at"]) for event in await events_of(astore, sid) if event["kind"] == "tool_call.queued"]
    assert max(later - sooner for sooner, later in pairwise(at)) < 500


async def test_a_short_timer_is_met_at_its_moment_and_not_with_the_next_look(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    sid = await begin(astore, maxConcurrency=9, asyncYieldStrategy={"tag": "yieldOnTimeout", "milliseconds": 150})

    def answer(messages: Sequence[SeenMessage]) -> Reply:
        turns = sum(message.role == "assistant" for message in messages)
        return calls(call("slow", x=turns)) if turns < 8 else Reply("done")

    async with fake_worker(settings, "slow", tool=gated) as worker, orchestrating(settings, answer):
        await event_came(astore, sid, "turn.completed", 9)
        for turn in range(8):
            worker.end(f'{{"x":{turn}}}', done("fine"))
        await run_ended(astore, sid)

    moments = {
        (event["kind"], event["turn"]): int(event["at"]) for event in await events_of(astore, sid) if "turn" in event
    }
    waits = [moments["turn.started", str(n + 1)] - moments["turn.completed", str(n)] for n in range(1, 9)]
    assert min(waits) > 100  # counted from the step, a little before the event
    assert sum(waits) < 8 * 400  # looks once a second would take 8 * 650 on the average
    placeholders = [
        entry.messages[0].placeholder for entry in await log_of(astore, sid) if isinstance(entry, ToolsEntry)
    ]
    assert placeholders == [True] * 8


@pytest.mark.parametrize("parked", [0, 300])
async def test_an_idle_orchestrator_asks_the_store_little_however_many_sessions_are_parked(
    parked: int, settings: Settings, astore: redis.asyncio.Redis
) -> None:
    for number in range(parked):
        await arun(astore, scripts.create(f"s{number}", "a", MADE_OF))
    sweeps = 6
    often = settings.model_copy(update={"sweep_seconds": 0.15})

    async with orchestrating(often, lambda messages: Reply("never")):
        await aeventually(lambda: swept(astore, 1))
        await astore.config_resetstat()
        await aeventually(lambda: swept(astore, sweeps))
        commands = await command_counts(astore)

    assert await reads.ranked(astore, keys.DUE) == []
    by_us = {name: number for name, number in commands.items() if name not in ("info", "config|resetstat")}
    assert sum(by_us.values()) <= 14 * sweeps, by_us


async def swept(store: redis.asyncio.Redis, times: int) -> bool:
    """Whether there were that many sweeps; each asks once for the queues."""
    return (await command_counts(store)).get("smembers", 0) >= times


async def command_counts(store: redis.asyncio.Redis) -> dict[str, int]:
    """How often each command ran, inside scripts too."""
    stats = await store.info("commandstats")
    return {name.removeprefix("cmdstat_"): int(numbers["calls"]) for name, numbers in stats.items()}


async def test_a_session_in_hand_is_stepped_by_nobody_else_while_it_is_asked_about(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    sid = await begin(astore)

    async with orchestrating(settings, lambda messages: Reply("done")) as ownership:
        taken = [await ownership.take(sid, named=True) for _ in range(3)]
        await run_ended(astore, sid)

    assert taken.count(True) <= 1
    assert len(await events_of(astore, sid, "turn.completed")) == 1
    assert await sessions.status_of(astore, sid) == "idle"
