"""Messages that got lost are published again: never while a backlog is healthy, and once however many sweepers look."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from typing import cast

import pytest
import redis
import redis.asyncio
from tests.integration.errand import begin, call, faults_of, leftovers, orchestrating, run_ended
from tests.integration.errand import calls as asking
from tests.integration.fake_worker import fake_worker, task_message
from tests.integration.script_scenes import HOLDER, QUEUE, Scene
from tests.waiting import aeventually

from errands_config import keys
from errands_config.scripts import attempts, calls, workers
from errands_config.scripts.attempts import ClaimRefused
from errands_config.scripts.script import run
from errands_config.settings import Settings
from errands_config.store import broker_url
from errands_config.wire import Claimed, TaskMessage
from errands_orchestrator.dispatcher import Dispatcher
from errands_orchestrator.models.model import Reply
from errands_orchestrator.models.seen import SeenMessage
from errands_orchestrator.sweeper import Sweeper

LONG_AGO_MS = 10_000


@pytest.fixture
def scene(store: redis.Redis) -> Scene:
    made = Scene(store)
    made.owned()
    made.run(workers.beat("w1", {}))
    return made


@pytest.fixture
async def sweepers(settings: Settings, astore: redis.asyncio.Redis) -> AsyncGenerator[list[Sweeper]]:
    async def nudge(cids: Sequence[str]) -> None: ...

    dispatchers = [Dispatcher(broker_url(settings)) for _ in range(2)]
    yield [Sweeper(astore, dispatcher, nudge, 5) for dispatcher in dispatchers]
    for dispatcher in dispatchers:
        dispatcher.close()


def published_long_ago(scene: Scene, cid: str, *, before_ms: int = LONG_AGO_MS) -> None:
    scene.store.zincrby(keys.queued(QUEUE), -before_ms, cid)


def empty_for_long(scene: Scene) -> None:
    """As if a sweeper had found the queue empty a while ago."""
    scene.store.hset(keys.queue_marks(QUEUE), "empty_since", 1)


def on_the_queue(scene: Scene) -> int:
    return scene.store.llen(QUEUE)


async def test_a_backlog_behind_a_busy_queue_is_never_published_again(scene: Scene, sweepers: list[Sweeper]) -> None:
    for number in range(10):
        scene.queued(f"c{number}")
        published_long_ago(scene, f"c{number}")
    oldest = scene.message("c0")
    run(scene.store, attempts.claim(oldest, "a1", HOLDER))

    for _ in range(5):
        await sweepers[0].sweep()

    assert on_the_queue(scene) == 10  # the message of the claimed one was not taken off by this test
    assert {scene.fields(f"c{number}")["published"] for number in range(10)} == {"1"}


async def test_a_queue_whose_list_was_lost_gets_each_message_again_once(scene: Scene, sweepers: list[Sweeper]) -> None:
    for number in range(10):
        scene.queued(f"c{number}")
        published_long_ago(scene, f"c{number}")
    scene.store.delete(QUEUE)
    empty_for_long(scene)

    answers: list[Claimed | ClaimRefused] = []
    for _ in range(4):
        await asyncio.gather(*(sweeper.sweep() for sweeper in sweepers))
        answers += [
            run(scene.store, attempts.claim(message, f"a{message.call}", HOLDER)) for message in taken_off(scene)
        ]

    assert [answer for answer in answers if isinstance(answer, ClaimRefused)] == []
    assert sorted(answer.call for answer in answers if isinstance(answer, Claimed)) == [f"c{n}" for n in range(10)]


def taken_off(scene: Scene) -> list[TaskMessage]:
    entries = cast("list[str] | None", scene.store.rpop(QUEUE, 100))
    return [task_message(entry) for entry in entries or ()]


async def test_a_queue_that_has_only_just_been_found_empty_is_given_time(scene: Scene, sweepers: list[Sweeper]) -> None:
    scene.queued()
    published_long_ago(scene, "c1")
    scene.store.delete(QUEUE)

    await sweepers[0].sweep()
    await sweepers[0].sweep()

    assert on_the_queue(scene) == 0


async def test_a_call_that_a_later_one_overtook_is_published_again(scene: Scene, sweepers: list[Sweeper]) -> None:
    scene.queued("c1")
    published_long_ago(scene, "c1")
    later = scene.queued("c2")
    run(scene.store, attempts.claim(later, "a2", HOLDER))
    before = on_the_queue(scene)

    await sweepers[0].sweep()

    assert on_the_queue(scene) == before + 1
    entry = json.loads(cast("list[str]", scene.store.lrange(QUEUE, 0, 0))[0])
    assert entry["headers"]["id"] == "c1.1r2"
    assert task_message(json.dumps(entry)).call == "c1"


async def test_a_call_overtaken_by_less_than_two_seconds_is_left_alone(scene: Scene, sweepers: list[Sweeper]) -> None:
    scene.queued("c1")
    published_long_ago(scene, "c1", before_ms=1_500)
    later = scene.queued("c2")
    run(scene.store, attempts.claim(later, "a2", HOLDER))
    before = on_the_queue(scene)

    await sweepers[0].sweep()

    assert on_the_queue(scene) == before


async def test_a_call_that_was_never_published_is_taken_at_once(scene: Scene, sweepers: list[Sweeper]) -> None:
    scene.queued()
    scene.store.delete(QUEUE)
    scene.store.zadd(keys.queued(QUEUE), {"c1": 0})

    await sweepers[0].sweep()

    assert on_the_queue(scene) == 1


async def test_the_second_copy_of_a_message_is_refused(scene: Scene) -> None:
    message = scene.queued()

    first = run(scene.store, attempts.claim(message, "a1", HOLDER))
    second = run(scene.store, attempts.claim(message, "a2", HOLDER))

    assert isinstance(first, Claimed)
    assert second == ClaimRefused("refused", "running")


async def test_the_copy_that_comes_after_the_end_is_refused(scene: Scene) -> None:
    scene.ended()

    assert run(scene.store, attempts.claim(scene.message(), "a2", HOLDER)) == ClaimRefused("refused", "completed")


async def test_an_index_entry_of_a_call_that_is_not_queued_leaves_the_index(scene: Scene) -> None:
    scene.waiting()
    scene.store.zadd(keys.queued(QUEUE), {"c1": 0})

    assert run(scene.store, calls.repeat("c1", QUEUE)) is None
    assert scene.traces() == []


async def test_a_lost_queue_costs_a_run_time_and_no_call(settings: Settings, astore: redis.asyncio.Redis) -> None:
    quick = settings.model_copy(update={"sweep_seconds": 0.1})
    sid = await begin(astore, asyncYieldStrategy="yieldWhenAllDone", maxConcurrency=20)

    def answer(messages: Sequence[SeenMessage]) -> Reply:
        return asking(*(call("work", x=n) for n in range(10))) if len(messages) == 2 else Reply("done")

    async with orchestrating(quick, answer):
        await aeventually(lambda: holds(astore, QUEUE, 10))
        await astore.delete(QUEUE)
        async with fake_worker(quick, "work") as worker:
            await run_ended(astore, sid)

    assert len(worker.claimed) == 10
    assert worker.refused == []
    assert await faults_of(astore, sid) == []
    assert await leftovers(astore) == {}


async def holds(store: redis.asyncio.Redis, queue: str, number: int) -> bool:
    return await store.llen(queue) == number


async def test_a_queue_whose_name_holds_something_else_harms_no_other(scene: Scene, sweepers: list[Sweeper]) -> None:
    scene.queued()
    published_long_ago(scene, "c1")
    scene.store.delete(QUEUE)
    empty_for_long(scene)
    scene.store.hset("foreign", "not", "a list")
    scene.store.sadd(keys.QUEUES, "foreign")
    scene.store.hset(keys.call("x"), mapping={"session": "s1", "state": "queued", "attempt": "1", "policy": "{}"})
    scene.store.zadd(keys.queued("foreign"), {"x": 1})

    await sweepers[0].sweep()

    assert on_the_queue(scene) == 1
