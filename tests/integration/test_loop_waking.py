"""Which sessions a process takes when: woken in the moment of their parking, or late because the store was away."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import pytest
import redis.asyncio
from tests.integration.errand import answering, begin, event_came, events_of

from errands_config import keys
from errands_config.scripts import sessions as scripts
from errands_config.scripts.script import arun
from errands_config.settings import Settings
from errands_config.store import aio
from errands_orchestrator import reads, sessions
from errands_orchestrator.definitions import Library
from errands_orchestrator.ending import end_all
from errands_orchestrator.loop import Parts
from errands_orchestrator.models.model import Reply
from errands_orchestrator.ownership import LOOK_SECONDS, Ownership
from errands_orchestrator.transcripts import Transcripts


class LateAnswers(redis.asyncio.Redis):
    """A connection on which the answer of a park is under way for as long as `meanwhile` takes, once."""

    meanwhile: Callable[[], Awaitable[object]] | None = None
    failures: int = 0
    """So many scripts are not answered at all."""

    async def evalsha(self, sha: str, numkeys: int, *keys_and_args: Any) -> Any:
        if self.failures:
            self.failures -= 1
            raise redis.ConnectionError("the store is away")
        answer = await super().evalsha(sha, numkeys, *keys_and_args)
        if answer[0] == "parked" and self.meanwhile:
            happens, self.meanwhile = self.meanwhile, None
            await happens()
        return answer


@pytest.fixture
async def late(settings: Settings, astore: redis.asyncio.Redis) -> AsyncGenerator[LateAnswers]:
    async with aio(settings) as plain, LateAnswers(connection_pool=plain.connection_pool) as client:
        yield client


def owning(store: LateAnswers, *, lease_ms: int) -> Ownership:
    async def nudge(cids: object) -> None: ...

    library = Library(store, answering(lambda messages: Reply("heard")))
    return Ownership(Parts(store, library, Transcripts(store), nudge, None, lease_ms), store)


async def test_a_letter_that_comes_while_the_answer_of_the_park_is_under_way_is_taken_at_once(
    late: LateAnswers, astore: redis.asyncio.Redis
) -> None:
    ownership = owning(late, lease_ms=6000)
    sid = await begin(astore)
    rung: list[bool] = []

    async def letter_comes() -> None:
        await sessions.send(astore, sid, "one more thing")
        assert await reads.pop_next(astore, keys.BELL, 1) == sid
        rung.append(await ownership.take(sid))

    await astore.delete(keys.BELL)
    late.meanwhile = letter_comes
    looking = asyncio.create_task(ownership.look())
    await event_came(astore, sid, "turn.completed")
    first = time.monotonic()
    await event_came(astore, sid, "turn.completed", 2)
    took = time.monotonic() - first

    await ownership.close()
    await end_all([looking])
    assert rung == [False]  # it was in hand still
    assert took < LOOK_SECONDS / 2


async def test_after_a_failure_of_the_store_a_late_owner_is_given_one_lease_more(
    late: LateAnswers, astore: redis.asyncio.Redis
) -> None:
    lease_ms = 1500
    owned, free = await begin(astore), await begin(astore)
    await arun(astore, scripts.acquire(owned, "another", "errands:owner:x", lease_ms))
    await astore.zadd(keys.DUE, {owned: 1})
    ownership = owning(late, lease_ms=lease_ms)
    late.failures = 1

    failed = time.monotonic()
    looking = asyncio.create_task(ownership.look())
    await event_came(astore, free, "run.ended")
    assert await events_of(astore, owned) == []
    await event_came(astore, owned, "run.ended")
    took = time.monotonic() - failed

    await ownership.close()
    await end_all([looking])
    assert took >= lease_ms / 1000
