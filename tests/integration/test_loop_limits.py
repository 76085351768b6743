"""Shared limits over whole sessions: two of them, one slot, and starts again after a loss."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import pytest
import redis.asyncio
from tests.integration.errand import (
    STATUS,
    begin,
    call,
    calls,
    event_came,
    faults_of,
    leftovers,
    orchestrating,
    run_ended,
    shown,
)
from tests.integration.fake_worker import FakeWorker, done, fake_worker, gated
from tests.waiting import aeventually

from errands_config import keys
from errands_config.errors import ConfigError
from errands_config.settings import LimitSetting, Settings, load_settings
from errands_config.wire import Claimed, Outcome
from errands_orchestrator import sessions
from errands_orchestrator.models.model import Reply
from errands_orchestrator.models.seen import SeenMessage

CALLS = 6


def one_slot(settings: Settings) -> Settings:
    return settings.model_copy(update={"limits": {"gpu": LimitSetting(concurrency=1)}})


def six_calls(messages: Sequence[SeenMessage]) -> Reply:
    made = (call("work", f"call_{number}", x=number) for number in range(CALLS))
    return calls(*made) if len(messages) == 2 else Reply("done")


class Counting:
    """A tool that knows how many of it run at a time."""

    def __init__(self) -> None:
        self.now = self.most = 0

    async def __call__(self, worker: FakeWorker, claimed: Claimed) -> Outcome:
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.01)
        self.now -= 1
        return done("fine")


async def test_calls_of_two_sessions_share_one_slot_and_follow_one_another_without_a_sweeps_delay(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    settings = one_slot(settings.model_copy(update={"sweep_seconds": 1.5}))
    agent = {"sharedLimits": ["gpu"], "maxConcurrency": CALLS, "asyncYieldStrategy": "yieldWhenAllDone"}
    sids = [await begin(astore, "go", **agent), await begin(astore, "go", **agent)]
    tool = Counting()

    began = time.monotonic()
    async with fake_worker(settings, "work", tool=tool), orchestrating(settings, six_calls):
        await run_ended(astore, *sids, within=30)

    assert tool.most == 1
    assert time.monotonic() - began < 2 * CALLS * 1.5 / 2  # a sweep for each grant would take twice that
    assert [await faults_of(astore, sid) for sid in sids] == [[], []]
    assert await leftovers(astore) == {}
    assert await astore.exists(*keys.limit("gpu")[:2]) == 0


async def test_a_slot_is_free_again_when_its_holders_worker_is_lost(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    settings = one_slot(settings)
    sid = await begin(astore, "go", sharedLimits=["gpu"], asyncYieldStrategy="yieldWhenAllDone")

    def answer(messages: Sequence[SeenMessage]) -> Reply:
        return calls(call("work", "a", x=1), call("work", "b", x=2)) if len(messages) == 2 else Reply("done")

    async with orchestrating(settings, answer), fake_worker(settings, "work", tool=gated) as worker:

        async def one_waits() -> bool:
            return [refused.why for refused in worker.refused] == ["limited"]

        await aeventually(one_waits)
        worker.fall_silent()
        async with fake_worker(settings, "work", name="w2"):
            await run_ended(astore, sid, within=30)

    told = await shown(astore, sid)
    assert (told.count("tool call orphaned"), told.count('work {"x":')) == (1, 1)
    assert await faults_of(astore, sid) == []


async def test_a_marked_call_of_a_lost_worker_runs_again_and_the_model_is_told_so(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    again = {"match": {"tool": "wo*"}, "decorators": [{"tag": "rerunOnRestart", "times": 1}]}
    policy = {"default": {"tag": "runAsync"}, "wrappers": [again]}
    sid = await begin(astore, "go", asyncYieldStrategy="yieldWhenAllDone", toolCallPolicyConfig=policy)

    def answer(messages: Sequence[SeenMessage]) -> Reply:
        return calls(call("work", "a", x=1)) if len(messages) == 2 else Reply("done")

    async with orchestrating(settings, answer):
        async with fake_worker(settings, "work", tool=gated) as worker:
            await event_came(astore, sid, "tool_call.started")
            worker.fall_silent()
        async with fake_worker(settings, "work", name="w2"):
            await run_ended(astore, sid, within=30)

    assert '(run again from the start after a restart)\nwork {"x":1}' in await shown(astore, sid)
    assert [event["attempt"] for event in await event_came(astore, sid, "tool_call.started", 2)] == ["1", "2"]
    assert await faults_of(astore, sid) == []


async def test_an_agent_that_names_an_unknown_limit_is_paused_with_the_place(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    sid = await begin(astore, "go", sharedLimits=["gpu"])

    async with orchestrating(settings, six_calls):
        await event_came(astore, sid, "run.paused")

    cause = (await sessions.row(astore, sid)).cause
    assert "sharedLimits[0]" in cause
    assert "ERRANDS_LIMITS" in cause


@pytest.mark.parametrize("wrong", ['{"gpu": {}}', '{"gpu": {"concurrency": 0}}', '{"a b": {"concurrency": 1}}', "{"])
def test_a_limit_that_bounds_nothing_is_a_mistake_in_the_settings(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERRANDS_LIMITS", wrong)
    with pytest.raises(ConfigError, match="ERRANDS_LIMITS"):
        load_settings()


async def test_a_call_in_line_names_the_limit_and_its_place(settings: Settings, astore: redis.asyncio.Redis) -> None:
    settings = one_slot(settings)
    sid = await begin(
        astore, "go", sharedLimits=["gpu"], asyncYieldStrategy={"tag": "yieldOnTimeout", "milliseconds": 0}
    )
    second = asyncio.Event()

    async def answer(messages: Sequence[SeenMessage]) -> Reply:
        if len(messages) == 2:
            return calls(*(call("work", name, x=number) for number, name in enumerate("abc")))
        if len(messages) == 6:
            await second.wait()
            return calls(call(STATUS, "s", tool_call_id="c"))
        return Reply("done")

    async with fake_worker(settings, "work", tool=gated) as worker, orchestrating(settings, answer):

        async def two_wait() -> bool:
            return len(worker.refused) == 2

        await aeventually(two_wait)
        second.set()
        await event_came(astore, sid, "turn.completed", 3)
        for number in range(3):
            worker.end(f'{{"x":{number}}}', done("fine"))
        await run_ended(astore, sid)

    assert '"waiting_for":{"shared_limit":"gpu","place":2}' in await shown(astore, sid)
