"""The store dies under an orchestrator and comes back: work is late, and nothing is lost or done twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, MutableMapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import redis.asyncio
from structlog.testing import capture_logs
from tests.integration.errand import (
    answering,
    begin,
    call,
    calls,
    event_came,
    events_of,
    faults_of,
    leftovers,
    log_of,
    run_ended,
    shown,
)
from tests.integration.fake_worker import FakeWorker, done, fake_worker, gated
from tests.waiting import aeventually

from errands_config.embedded import EmbeddedStore
from errands_config.settings import Settings
from errands_config.store import aio
from errands_orchestrator.models.model import Reply
from errands_orchestrator.models.seen import SeenMessage
from errands_orchestrator.service import orchestrator
from errands_orchestrator.session import UserEntry

AWAY_SECONDS = 1.0


@pytest.fixture
def mortal(tmp_path: Path, clean_environment: None) -> Iterator[EmbeddedStore]:
    """A store of this test's own, which writes every change to disk before it answers."""
    with EmbeddedStore(tmp_path / "home", "durable") as made:
        yield made


@pytest.fixture
def quick(mortal: EmbeddedStore, tmp_path: Path) -> Settings:
    return Settings(redis_url=mortal.url, home=tmp_path / "other", lease_seconds=0.9)


@pytest.fixture
async def client(quick: Settings) -> AsyncGenerator[redis.asyncio.Redis]:
    async with aio(quick) as made:
        yield made


async def dies_and_comes_back(mortal: EmbeddedStore) -> None:
    await asyncio.to_thread(mortal.server.kill)
    await asyncio.sleep(AWAY_SECONDS)  # for so long there is no store: nothing could be waited for
    await asyncio.to_thread(mortal.revive)


async def test_calls_go_on_while_the_store_is_away_and_their_results_arrive(
    mortal: EmbeddedStore, quick: Settings, client: redis.asyncio.Redis
) -> None:
    sids = [await begin(client, f"session {n}", asyncYieldStrategy="yieldWhenAllDone") for n in range(4)]

    def answer(messages: Sequence[SeenMessage]) -> Reply:
        return calls(call("work", x=1), call("slow", x=2)) if len(messages) == 2 else Reply("done")

    async with (
        fake_worker(quick, "work", "slow", tool=gated) as worker,
        orchestrator(quick, make_model=answering(answer)),
    ):
        await aeventually(lambda: claimed(worker, 8))
        away = asyncio.create_task(dies_and_comes_back(mortal))
        for x in (1, 2):
            worker.end(f'{{"x":{x}}}', done(f"result {x}"))
        await away
        await run_ended(client, *sids, within=20)

    assert not worker.settled
    assert len(worker.claimed) == 8
    for sid in sids:
        assert [(await shown(client, sid)).count(f"result {x}") for x in (1, 2)] == [1, 1]
        assert await faults_of(client, sid) == []
    assert await leftovers(client) == {}


async def claimed(worker: FakeWorker, number: int) -> bool:
    return len(worker.claimed) == number


async def test_an_answer_that_could_not_be_committed_is_asked_for_again(
    mortal: EmbeddedStore, quick: Settings, client: redis.asyncio.Redis
) -> None:
    sid = await begin(client, "a question")
    asked: list[Sequence[SeenMessage]] = []

    async def answer(messages: Sequence[SeenMessage]) -> Reply:
        asked.append(messages)
        if len(asked) == 1:
            await asyncio.to_thread(mortal.server.kill)
            asyncio.get_running_loop().call_later(4 * AWAY_SECONDS, back.set)
        return Reply(f"answer {len(asked)}")

    back = asyncio.Event()
    async with orchestrator(quick, make_model=answering(answer)):
        await back.wait()  # longer than the library repeats a command by itself
        await asyncio.to_thread(mortal.revive)
        await run_ended(client, sid, within=20)

    assert asked[1:] == [asked[0]]
    assert len(await events_of(client, sid, "turn.restarted")) == 1
    [question] = [entry for entry in await log_of(client, sid) if isinstance(entry, UserEntry)]
    assert question.text == "a question"
    assert await event_came(client, sid, "run.ended")
    assert await leftovers(client) == {}


NOT_NOW = {
    "a replica is missing": (
        "CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0", "NOREPLICAS",
    ),
    "it is demoted while somebody waits": ("REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE", "UNBLOCKED"),
}  # fmt: skip


@pytest.mark.parametrize("why", NOT_NOW)
async def test_an_orchestrator_waits_for_a_store_that_cannot_do_it_just_now(
    why: str, quick: Settings, client: redis.asyncio.Redis
) -> None:
    begins, ends, word = NOT_NOW[why]
    with capture_logs() as logs:
        async with orchestrator(quick, make_model=answering(lambda _: Reply("done"))):
            await run_ended(client, await begin(client, "before"))
            await client.execute_command(*begins.split())
            await aeventually(lambda: refused(logs, word), saying=word)
            await client.execute_command(*ends.split())
            await run_ended(client, await begin(client, "after"))


async def refused(logs: Sequence[MutableMapping[str, Any]], word: str) -> bool:
    return any(word in str(one.get("detail")) for one in logs)
