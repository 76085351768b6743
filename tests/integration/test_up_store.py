"""The store as `errands up` watches it: what it counts, and how it tells that the store goes, comes and dies."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import redis.asyncio
from tests.integration.errand import begin, call, calls, event_came, orchestrating, run_ended
from tests.integration.fake_worker import fake_worker, gated
from tests.waiting import aeventually

from errands_config.embedded import EmbeddedStore
from errands_config.settings import Settings
from errands_config.wire import CallState, Outcome
from errands_orchestrator.cli.connecting import Reached
from errands_orchestrator.cli.up_news import AWAY, Died, News, Status
from errands_orchestrator.cli.up_status import read_status
from errands_orchestrator.cli.up_store import WatchedStore
from errands_orchestrator.models.model import Reply
from errands_orchestrator.models.seen import SeenMessage


async def test_what_goes_on_is_counted_and_what_has_ended_is_not(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    def answer(messages: Sequence[SeenMessage]) -> Reply:
        return calls(call("work", n=1), call("work", n=2)) if messages[-1].text == "work" else Reply("done")

    over = await begin(astore, "nothing to do")
    async with fake_worker(settings, "work", tool=gated) as worker, orchestrating(settings, answer):
        await run_ended(astore, over)
        sid = await begin(astore, "work")
        await event_came(astore, sid, "tool_call.started", 2)
        await worker.beat()

        status = await read_status(astore, settings)

        assert (status.sessions_running, status.calls_running, status.calls_queued) == (1, 2, 0)
        assert (status.workers, status.busy_slots) == (1, 2)
        for arguments in ('{"n":1}', '{"n":2}'):
            worker.end(arguments, Outcome(state=CallState.COMPLETED, result="fine"))
        await run_ended(astore, sid)
        assert (await read_status(astore, settings)).calls_running == 0
        assert (await read_status(astore, settings)).sessions_running == 0


@dataclass
class Told:
    """What the watcher of a store has said."""

    news: list[News] = field(default_factory=list["News"])
    shown: list[Status] = field(default_factory=list[Status])

    @property
    def deaths(self) -> list[Died]:
        return [one for one in self.news if isinstance(one, Died)]


@contextlib.asynccontextmanager
async def watching(there: Reached) -> AsyncGenerator[Told]:
    told = Told()
    task = asyncio.create_task(WatchedStore(there, told.news.append).watch(told.shown.append))
    try:
        await _shows(told, "ok")
        yield told
    finally:
        task.cancel()
        await asyncio.wait([task])


async def _shows(told: Told, store: str) -> None:
    async def shown() -> bool:
        return bool(told.shown) and told.shown[-1].store == store

    await aeventually(shown, saying=f"the store is shown as {store}")


@pytest.fixture
def own(tmp_path: Path) -> Iterator[EmbeddedStore]:
    with EmbeddedStore(tmp_path / "home") as store:
        yield store


def _pid(store: EmbeddedStore) -> int:
    return int((store.server.folder / "valkey.pid").read_text())


async def test_a_store_of_others_that_falls_silent_is_shown_as_away_until_it_answers(own: EmbeddedStore) -> None:
    async with watching(Reached(Settings(redis_url=own.url), None)) as told:
        os.kill(_pid(own), signal.SIGSTOP)
        try:
            await _shows(told, "away")
            assert told.shown[-1] == AWAY
        finally:
            os.kill(_pid(own), signal.SIGCONT)
        await _shows(told, "ok")
        assert told.news == []


async def test_a_store_of_our_own_that_dies_is_started_again_and_its_death_is_told_once(own: EmbeddedStore) -> None:
    async with watching(Reached(Settings(redis_url=own.url), own)) as told:
        await asyncio.to_thread(own.server.kill)

        async def died() -> bool:
            return bool(told.deaths)

        await aeventually(died, saying="its death is told")
        await _shows(told, "ok")
        assert [(one.part, one.exit_code) for one in told.deaths] == [("store", None)]
        assert "Ready to accept connections" in told.deaths[0].last_words


async def test_a_store_that_somebody_else_started_again_has_died_all_the_same(own: EmbeddedStore) -> None:
    async with watching(Reached(Settings(redis_url=own.url), None)) as told:
        await asyncio.to_thread(own.server.kill)
        await asyncio.to_thread(own.revive)

        async def died() -> bool:
            return bool(told.deaths)

        await aeventually(died, saying="its death is told")
