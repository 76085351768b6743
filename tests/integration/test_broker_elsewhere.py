"""A broker that is not the store: the dispatcher publishes what a commit queued, and a backlog there is left alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

import redis
import redis.asyncio
from pydantic import SecretStr
from tests.integration.errand import begin, call, calls, orchestrating
from tests.waiting import aeventually

from errands_config import keys, store
from errands_config.scripts.attempts import Holder, claim
from errands_config.scripts.script import arun
from errands_config.scripts.workers import beat
from errands_config.settings import Settings
from errands_config.wire import Claimed, TaskMessage
from errands_orchestrator import reads
from errands_orchestrator.dispatcher import Dispatcher
from errands_orchestrator.sweeper import Sweeper

ELSEWHERE = 1
"""Database of the same server that plays the other broker."""
LONG_AGO_MS = 60_000


def with_broker(settings: Settings) -> Settings:
    url = store.broker_url(settings).replace("virtual_host=0", f"virtual_host={ELSEWHERE}")
    return settings.model_copy(update={"broker_url": SecretStr(url)})


def bodies(broker: redis.Redis, sid: str) -> list[TaskMessage]:
    messages = [json.loads(text) for text in cast("list[str]", broker.lrange("default", 0, -1))]
    cids = [message["headers"]["id"].split(".")[0] for message in messages]
    return [TaskMessage(call=cid, session=sid, queue="default", attempt=1, published=0) for cid in cids]


async def test_calls_are_published_there_once_and_a_backlog_is_not_repeated(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    elsewhere = with_broker(settings)
    there = settings.model_copy(update={"redis_url": (settings.redis_url or "").replace("db=0", f"db={ELSEWHERE}")})
    with store.plain(there) as broker:
        sid = await begin(astore)
        async with orchestrating(elsewhere, lambda messages: calls(call("work"), call("work"))):
            await aeventually(lambda: has_two(broker), saying="both messages are on the other broker")
        queued = await reads.ranked(astore, keys.queued("default"))
        for cid in queued:
            await astore.zincrby(keys.queued("default"), -LONG_AGO_MS, cid)

        await swept(elsewhere, astore)

        assert await reads.count(astore, "default") == 0
        assert {one.call for one in bodies(broker, sid)} == set(queued)
        assert broker.llen("default") == 2
        await arun(astore, beat("w1", {"host": "h"}))
        assert isinstance(await arun(astore, claim(bodies(broker, sid)[0], "t", Holder("w1", 1))), Claimed)


async def has_two(broker: redis.Redis) -> bool:
    return broker.llen("default") == 2


async def swept(elsewhere: Settings, astore: redis.asyncio.Redis) -> None:
    """One look of a sweeper that found the store's own list empty long ago, as it always is here."""
    await cast("Any", astore.hset(keys.queue_marks("default"), "empty_since", "1"))

    async def nudge(cids: Sequence[str]) -> None: ...

    dispatcher = Dispatcher(store.broker_url(elsewhere))
    await Sweeper(astore, dispatcher, nudge, 5, elsewhere=True).sweep()
    dispatcher.close()
