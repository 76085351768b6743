"""What the sweeper ends: calls of lost workers, calls that nobody claims; and whom it only asks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import pytest
import redis
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
from tests.integration.fake_worker import FakeWorker, done, fake_worker, gated
from tests.integration.script_scenes import Scene
from tests.waiting import aeventually

from errands_config import keys
from errands_config.scripts import workers
from errands_config.scripts.attempts import Holder
from errands_config.settings import Settings
from errands_config.store import broker_url
from errands_config.wire import CallState, Claimed, Outcome
from errands_orchestrator import reads, sessions
from errands_orchestrator.calls import CallRow, call_rows
from errands_orchestrator.dispatcher import Dispatcher
from errands_orchestrator.models.model import Reply
from errands_orchestrator.models.seen import SeenMessage
from errands_orchestrator.sweeper import Sweeper


@pytest.fixture
def quick(settings: Settings) -> Settings:
    """Settings under which a lost worker is noticed soon."""
    return settings.model_copy(update={"beat_seconds": 0.1, "lost_after_seconds": 0.6, "sweep_seconds": 0.05})


def one_call(messages: Sequence[SeenMessage]) -> Reply:
    return calls(call("work", "it", x=1)) if len(messages) == 2 else Reply("done")


async def only_call(store: redis.asyncio.Redis, sid: str) -> CallRow:
    [row] = await call_rows(store, await sessions.call_ids(store, sid))
    return row


async def claimed(worker: FakeWorker) -> bool:
    return bool(worker.claimed)


# ---- lost workers


async def test_a_call_whose_worker_falls_silent_is_orphaned_in_time_and_the_model_is_told(
    quick: Settings, astore: redis.asyncio.Redis
) -> None:
    sid = await begin(astore)

    async with fake_worker(quick, "work", tool=gated) as worker, orchestrating(quick, one_call):
        await aeventually(lambda: claimed(worker))
        worker.fall_silent()
        silent = time.monotonic()
        await event_came(astore, sid, "tool_call.orphaned")
        took = time.monotonic() - silent
        await run_ended(astore, sid)

    assert quick.lost_after_seconds - quick.beat_seconds <= took <= quick.lost_after_seconds + 1
    assert "tool call orphaned: it was running in a process that no longer tracks it" in await shown(astore, sid)
    assert await faults_of(astore, sid) == []
    assert await leftovers(astore) == {}


async def test_a_call_that_was_asked_to_end_on_a_lost_worker_is_cancelled_and_not_confirmed(
    quick: Settings, astore: redis.asyncio.Redis
) -> None:
    sid = await begin(astore)

    async with fake_worker(quick, "work", tool=gated) as worker, orchestrating(quick, one_call):
        await aeventually(lambda: claimed(worker))
        await sessions.control(astore, sid, "stopRun")
        await run_ended(astore, sid)
        worker.fall_silent()
        await event_came(astore, sid, "tool_call.cancelled")

    row = await only_call(astore, sid)
    assert row.outcome is not None
    assert (row.outcome.by, row.outcome.confirmed) == ("user", False)


async def test_a_call_whose_deadline_passed_on_a_lost_worker_is_timed_out(
    quick: Settings, astore: redis.asyncio.Redis
) -> None:
    sid = await begin(astore, asyncCallTimeoutSeconds=2)

    async with fake_worker(quick, "work", tool=gated) as worker, orchestrating(quick, one_call):
        await aeventually(lambda: claimed(worker))
        await astore.hset(keys.call(worker.claimed[0].call), "deadline", "1")
        worker.fall_silent()
        await run_ended(astore, sid)

    assert "async tool call timed out after 2s" in await shown(astore, sid)


async def test_a_late_finish_of_a_settled_call_changes_nothing_and_its_worker_is_told(
    quick: Settings, astore: redis.asyncio.Redis
) -> None:
    sid = await begin(astore)

    async with fake_worker(quick, "work", tool=gated) as worker, orchestrating(quick, one_call):
        await aeventually(lambda: claimed(worker))
        beating = worker.tasks[0]
        beating.cancel()  # frozen rather than dead: its calls go on
        await event_came(astore, sid, "tool_call.orphaned")
        worker.end('{"x":1}', done("too late"))
        await aeventually(lambda: finished(worker))
        await worker.beat()
        await run_ended(astore, sid)

    assert worker.finished[0].outcome == "late"
    assert worker.settled
    assert "too late" not in await shown(astore, sid)


async def finished(worker: FakeWorker) -> bool:
    return bool(worker.finished)


async def test_a_worker_that_beats_is_never_given_up(quick: Settings, astore: redis.asyncio.Redis) -> None:
    sid = await begin(astore)

    async def work(worker: FakeWorker, call: Claimed) -> Outcome:
        await asyncio.sleep(3 * quick.lost_after_seconds)
        return done("fine")

    async with fake_worker(quick, "work", tool=work) as worker, orchestrating(quick, one_call):
        await run_ended(astore, sid)

    assert not worker.settled
    assert (await only_call(astore, sid)).state is CallState.COMPLETED


# ---- one sweep at a time


@asynccontextmanager
async def sweeping(settings: Settings, store: redis.asyncio.Redis, nudged: list[str]) -> AsyncGenerator[Sweeper]:
    dispatcher = Dispatcher(broker_url(settings))

    async def nudge(cids: Sequence[str]) -> None:
        nudged.extend(cids)

    try:
        yield Sweeper(store, dispatcher, nudge, settings.lost_after_seconds)
    finally:
        dispatcher.close()


@pytest.fixture
def nudged() -> list[str]:
    return []


@pytest.fixture
async def sweeper(quick: Settings, astore: redis.asyncio.Redis, nudged: list[str]) -> AsyncGenerator[Sweeper]:
    async with sweeping(quick, astore, nudged) as made:
        yield made


@pytest.fixture
def scene(store: redis.Redis) -> Scene:
    made = Scene(store)
    made.owned()
    return made


async def test_a_sweeper_goes_on_where_another_died_after_it_gave_a_worker_up(scene: Scene, sweeper: Sweeper) -> None:
    scene.running()
    scene.run(workers.settle("w1"))

    await sweeper.sweep()

    assert scene.state() == "orphaned"
    assert scene.traces() == []


async def test_a_call_without_a_record_leaves_the_indexes_of_the_sweeper(scene: Scene, sweeper: Sweeper) -> None:
    scene.running()
    scene.run(workers.settle("w1"))
    scene.long_ago()
    scene.store.delete(keys.call("c1"))

    await sweeper.sweep()

    assert scene.traces() == []


async def test_the_deadline_of_a_call_whose_supervisor_is_silent_becomes_a_wish_and_its_worker_is_nudged(
    scene: Scene, sweeper: Sweeper, nudged: list[str]
) -> None:
    scene.running()
    scene.long_ago()

    await sweeper.sweep()
    await sweeper.sweep()

    assert scene.state() == "running"
    assert scene.run(workers.beat("w1", {})).wishes == {"c1": "deadline"}
    assert nudged == ["c1"]


async def test_many_overdue_calls_are_nudged_together(scene: Scene, sweeper: Sweeper, nudged: list[str]) -> None:
    for number in range(20):
        scene.running(f"c{number}", token=f"a{number}")
        scene.long_ago(f"c{number}")

    await sweeper.sweep()

    assert sorted(nudged) == sorted(f"c{number}" for number in range(20))


@pytest.mark.parametrize(
    ("offered", "state", "text"),
    [
        (True, "timed_out", "async tool call failed: async tool call timed out after 3600s"),
        (False, "failed", "async tool call failed: no worker offers this tool"),
    ],
)
async def test_a_call_that_nobody_claimed_in_time_ends_and_says_whether_anybody_could_have(
    offered: bool, state: str, text: str, quick: Settings, astore: redis.asyncio.Redis, store: redis.Redis
) -> None:
    sid = await begin(astore)
    tools = ("work",) if offered else ()

    async with fake_worker(quick, *tools, queues=()), orchestrating(quick, one_call):
        await event_came(astore, sid, "tool_call.queued")
        [cid] = await sessions.call_ids(astore, sid)
        Scene(store).long_ago(cid)
        await run_ended(astore, sid)

    assert (await only_call(astore, sid)).state == state
    assert text in await shown(astore, sid)
    assert len(await events_of(astore, sid, f"tool_call.{state}")) == 1


async def test_two_sweepers_at_once_end_each_call_once(
    quick: Settings, astore: redis.asyncio.Redis, scene: Scene, sweeper: Sweeper
) -> None:
    cids = [f"c{number}" for number in range(30)]
    for number, cid in enumerate(cids):
        if number % 2:
            scene.running(cid, token=cid)
        else:
            scene.queued(cid)
            scene.long_ago(cid)
    scene.run(workers.settle("w1"))

    async with sweeping(quick, astore, []) as other:
        await asyncio.gather(sweeper.sweep(), other.sweep())

    assert {cid: scene.ends(cid) for cid in cids} == {
        cid: ["orphaned" if number % 2 else "failed"] for number, cid in enumerate(cids)
    }
    assert [len(scene.completion_letters(cid)) for cid in cids] == [1] * 30


async def test_a_sweep_that_failed_believes_no_beat_that_it_watched_before(
    quick: Settings, scene: Scene, sweeper: Sweeper
) -> None:
    scene.running()
    await sweeper.sweep()
    started = time.monotonic()
    while time.monotonic() - started < quick.lost_after_seconds:
        sweeper.store_failed()
        await sweeper.sweep()

    assert scene.state() == "running"
    assert "w1" in await reads.ranked(sweeper._store, keys.WORKERS)  # pyright: ignore[reportPrivateUsage]


async def test_settling_a_worker_leaves_the_calls_of_others_alone(scene: Scene, sweeper: Sweeper) -> None:
    scene.running("c1")
    scene.running("c2", token="a2", holder=Holder("w2", 22))
    scene.run(workers.settle("w1"))

    await sweeper.sweep()

    assert (scene.state("c1"), scene.state("c2")) == ("orphaned", "running")


async def test_a_call_of_a_lost_worker_that_cannot_be_read_keeps_no_other_from_its_end(
    scene: Scene, sweeper: Sweeper
) -> None:
    for number in (1, 2, 3):
        scene.running(f"c{number}", token=f"a{number}")
    scene.store.hset(keys.call("c1"), "policy", "{")
    scene.run(workers.settle("w1"))

    await sweeper.sweep()

    assert [scene.state(f"c{number}") for number in (1, 2, 3)] == ["running", "orphaned", "orphaned"]
