"""Records that this version cannot read, say of a newer one: whatever they do to their session, all others go on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import redis.asyncio
from structlog.testing import capture_logs
from tests.integration.errand import answering, begin, run_ended
from tests.waiting import aeventually

from errands_config import keys
from errands_config.settings import Settings
from errands_orchestrator import sessions
from errands_orchestrator.models.model import Reply
from errands_orchestrator.service import orchestrator

LETTER: dict[Any, Any] = {"id": "x", "kind": "aKindToCome", "sender": "user", "at": "1"}
UNREADABLE: dict[str, Callable[[str, redis.asyncio.Redis], Any]] = {
    "a letter": lambda sid, store: store.xadd(keys.mail(sid), LETTER),
    "its head": lambda sid, store: store.hdel(keys.session(sid), "version"),
    "its state": lambda sid, store: store.hset(keys.session(sid), "snapshot", '{"of":"a newer version"}'),
    "its mailbox": lambda sid, store: store.set(keys.mail(sid), "no stream"),
}


@pytest.mark.parametrize("what", UNREADABLE)
async def test_a_session_that_cannot_be_read_stops_no_other(
    what: str, settings: Settings, astore: redis.asyncio.Redis
) -> None:
    bad = await begin(astore)
    await UNREADABLE[what](bad, astore)
    with capture_logs() as logs:
        async with orchestrator(settings, make_model=answering(lambda _: Reply("heard"))):
            await aeventually(lambda: told("session.stuck", logs))
            good = await begin(astore)
            await run_ended(astore, good)
    assert {one["session_id"] for one in logs if one["event"] == "session.stuck"} == {bad}


async def test_a_gift_that_cannot_be_read_leaves_its_receiver_listening(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    with capture_logs() as logs:
        async with orchestrator(settings, make_model=answering(lambda _: Reply("heard"))):
            await aeventually(lambda: astore.pubsub_channels(keys.channel("*")), saying="it listens")
            bad, good = await begin(astore), await begin(astore)
            await run_ended(astore, bad, good)
            await astore.xadd(keys.mail(bad), LETTER)
            await sessions.send(astore, bad, "wake up")
            await aeventually(lambda: told("gift.unreadable", logs))
            await sessions.send(astore, good, "and you?")
            await run_ended(astore, good, times=2)
    assert not await told("store.away", logs)


async def told(event: str, logs: list[Any]) -> bool:
    return any(one["event"] == event for one in logs)
