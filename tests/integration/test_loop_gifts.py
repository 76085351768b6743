"""Sessions come back to the process that parked them, and to another one when it is gone, busy or closing."""

from __future__ import annotations

import asyncio

import pytest
import redis.asyncio
from tests.integration.errand import Answer, begin, orchestrating, run_ended
from tests.waiting import aeventually

from errands_config import keys
from errands_config.settings import Settings
from errands_orchestrator import ownership as owning
from errands_orchestrator import sessions
from errands_orchestrator.models.model import Reply


def by(name: str, answers: list[str]) -> Answer:
    """A model that notes who asked it."""

    def answer(_messages: object) -> Reply:
        answers.append(name)
        return Reply("heard")

    return answer


async def listening(store: redis.asyncio.Redis, count: int) -> None:
    async def heard() -> bool:
        return len(await store.pubsub_channels(keys.channel("*"))) == count

    await aeventually(heard, saying=f"{count} orchestrators listen")


async def test_a_session_comes_back_to_who_parked_it(settings: Settings, astore: redis.asyncio.Redis) -> None:
    answers: list[str] = []
    async with orchestrating(settings, by("first", answers)):
        await listening(astore, 1)
        sid = await begin(astore)
        await run_ended(astore, sid)
        async with orchestrating(settings, by("second", answers)):
            await listening(astore, 2)
            for times in range(2, 7):
                await sessions.send(astore, sid, "and now?")
                await run_ended(astore, sid, times=times)
    assert answers == ["first"] * 6


async def test_when_who_parked_it_is_gone_another_process_takes_it_at_once(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    answers: list[str] = []
    async with orchestrating(settings, by("first", answers)):
        await listening(astore, 1)
        sid = await begin(astore)
        await run_ended(astore, sid)
    async with orchestrating(settings, by("second", answers)):
        await listening(astore, 1)
        await sessions.send(astore, sid, "and now?")
        await run_ended(astore, sid, times=2, within=settings.lease_seconds / 2)
    assert answers == ["first", "second"]


async def test_a_process_that_is_closing_leaves_its_gift_to_another(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    answers: list[str] = []
    async with orchestrating(settings, by("first", answers)) as first:
        await listening(astore, 1)
        sid = await begin(astore)
        await run_ended(astore, sid)
        await first.close()  # it still listens, but takes nothing more
        async with orchestrating(settings, by("second", answers)):
            await listening(astore, 2)
            await sessions.send(astore, sid, "and now?")
            await run_ended(astore, sid, times=2, within=settings.lease_seconds / 2)
    assert answers == ["first", "second"]


async def test_a_lost_channel_is_opened_again(settings: Settings, astore: redis.asyncio.Redis) -> None:
    answers: list[str] = []
    async with orchestrating(settings, by("first", answers)):
        await listening(astore, 1)
        sid = await begin(astore)
        await run_ended(astore, sid)
        await astore.client_kill_filter(_type="pubsub")
        await listening(astore, 0)
        await sessions.send(astore, sid, "in between")
        await run_ended(astore, sid, times=2)
        await listening(astore, 1)
        await sessions.send(astore, sid, "and now?")
        await run_ended(astore, sid, times=3)
    assert answers == ["first"] * 3


async def test_more_sessions_than_a_process_steps_at_once_wake_together_and_are_all_stepped(
    settings: Settings, astore: redis.asyncio.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owning, "AT_ONCE", 16)
    monkeypatch.setattr(owning, "BUSY", 8)
    async with orchestrating(settings, by("first", [])):
        await listening(astore, 1)
        sids = [await begin(astore) for _ in range(60)]
        await run_ended(astore, *sids)
        await asyncio.gather(*(sessions.send(astore, sid, "all of you") for sid in sids))
        await run_ended(astore, *sids, times=2)
