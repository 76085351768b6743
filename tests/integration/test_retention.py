"""What is deleted, when, and that nothing is left of it; and that a store does not fill with what nobody owns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import redis.asyncio
from structlog.testing import capture_logs
from tests.integration.errand import begin, call, calls, event_came, orchestrating, run_ended
from tests.integration.fake_worker import done, fake_worker, gated
from tests.integration.ownership_of_keys import unowned

from errands_config import keys
from errands_config.scripts.deferred import complete
from errands_config.scripts.script import arun
from errands_config.settings import Settings
from errands_orchestrator import reads, sessions
from errands_orchestrator.calls import place_of
from errands_orchestrator.models.model import Reply
from errands_orchestrator.models.seen import SeenMessage
from errands_orchestrator.retention import Retention
from errands_orchestrator.snapshot import load_session

A_DAY = 86_400_000
LONG_AGO = 31 * A_DAY


def two_calls(messages: Sequence[SeenMessage]) -> Reply:
    if len(messages) == 2:
        return calls(call("work", "a", x=1), call("wait", "b", x=2))
    return Reply("done")


async def a_run(settings: Settings, store: redis.asyncio.Redis, **agent: Any) -> str:
    sid = await begin(store, **agent)
    async with fake_worker(settings, "work", "wait"), orchestrating(settings, two_calls):
        await run_ended(store, sid)
    return sid


async def aged(store: redis.asyncio.Redis, sid: str, *, by: int = LONG_AGO) -> None:
    """As if that many ms had passed since anything happened to the session and its calls."""
    now = (await store.time())[0] * 1000
    await store.hset(keys.session(sid), "updated", str(now - by))
    await store.zadd(keys.calls(sid), dict.fromkeys(await sessions.call_ids(store, sid), now - by))


async def keys_of(store: redis.asyncio.Redis, *ids: str) -> list[str]:
    return [str(key) async for key in store.scan_iter("*") if any(one in str(key) for one in ids)]


async def test_a_session_that_nobody_touched_for_long_goes_with_everything_that_is_its_own(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    sid, young = await a_run(settings, astore), await a_run(settings, astore)
    cids = await sessions.call_ids(astore, sid)
    await astore.set(keys.output(cids[0]), "what it printed before it failed\n")
    await aged(astore, sid)

    assert await Retention(astore, settings).look() == 1

    assert await keys_of(astore, sid, *cids) == []
    assert [row.id for row in await sessions.rows(astore)] == [young]
    assert len(await sessions.call_ids(astore, young)) == 2


@pytest.mark.parametrize("waits", ["mail", "an owner"])
async def test_a_session_that_somebody_is_about_to_step_stays(
    waits: str, settings: Settings, astore: redis.asyncio.Redis
) -> None:
    sid = await a_run(settings, astore)
    if waits == "mail":
        await sessions.send(astore, sid, "still there?")
    else:
        await astore.hset(keys.session(sid), "token", "somebody")
    await aged(astore, sid)

    assert await Retention(astore, settings).look() == 0

    assert await sessions.exists(astore, sid)


async def test_old_calls_of_a_session_in_use_go_once_the_model_was_told(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    sid = await a_run(settings, astore)
    now = (await astore.time())[0] * 1000
    old, young = await sessions.call_ids(astore, sid)
    await astore.zadd(keys.calls(sid), {old: now - LONG_AGO})

    assert await Retention(astore, settings).look() == 0

    assert await sessions.call_ids(astore, sid) == [young]
    assert await keys_of(astore, old) == []
    assert len(await sessions.entries_of(astore, sid)) > 1


async def test_a_call_whose_end_the_model_does_not_know_is_kept_however_old(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    sid = await begin(astore, onRunEnd="detach", asyncYieldStrategy={"tag": "yieldOnTimeout", "milliseconds": 0})

    def one_call(messages: Sequence[SeenMessage]) -> Reply:
        return calls(call("work", "a", x=1)) if len(messages) == 2 else Reply("bye")

    async with fake_worker(settings, "work", tool=gated) as worker, orchestrating(settings, one_call):
        await run_ended(astore, sid)
        worker.end('{"x":1}', done("late"))
    await aged(astore, sid)
    await astore.hset(keys.session(sid), "updated", "9" * 13)

    await Retention(astore, settings).look()

    snapshot = await reads.field(astore, keys.session(sid), "snapshot")
    assert len(load_session(snapshot or "").calls) == 1
    assert len(await sessions.call_ids(astore, sid)) == 1


async def test_a_session_with_a_call_that_waits_for_somebody_outside_is_kept_until_it_has_ended(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    gated = {"default": {"tag": "defer", "reason": "somebody has to agree"}}
    sid = await begin(astore, toolCallPolicyConfig=gated)
    async with orchestrating(settings, two_calls):
        await event_came(astore, sid, "run.blocked")
        cids = await sessions.call_ids(astore, sid)
    await aged(astore, sid)
    assert await Retention(astore, settings).look() == 0
    assert await sessions.call_ids(astore, sid) == cids

    for cid in cids:
        place = await place_of(astore, cid)
        assert place
        assert (await arun(astore, complete(place, 1, done("agreed")))).outcome == "ok"
    await aged(astore, sid)
    assert await Retention(astore, settings).look() == 0  # nobody has read yet that they ended
    assert await sessions.call_ids(astore, sid) == cids

    async with orchestrating(settings, two_calls):
        await run_ended(astore, sid)
    await aged(astore, sid)
    assert await Retention(astore, settings).look() == 1
    assert await keys_of(astore, sid, *cids) == []


async def test_a_session_that_cannot_be_read_keeps_no_other_from_being_deleted(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    sids = [await a_run(settings, astore) for _ in range(3)]
    await astore.hset(keys.session(sids[0]), "snapshot", '{"of": "a newer version"}')
    await astore.hset(keys.session(sids[1]), "version", "two")
    for sid in sids[1:]:
        await aged(astore, sid)

    with capture_logs() as logs:
        assert await Retention(astore, settings).look() == 1

    assert [await sessions.exists(astore, sid) for sid in sids] == [True, True, False]
    assert [one["session_id"] for one in logs if one["event"] == "retention.stuck"] == sids[:2]


async def test_nothing_is_deleted_where_the_settings_say_never(settings: Settings, astore: redis.asyncio.Redis) -> None:
    sid = await a_run(settings, astore)
    await aged(astore, sid)
    never = settings.model_copy(update={"keep_sessions_days": 0, "keep_calls_days": 0})

    assert await Retention(astore, never).look() == 0

    assert len(await sessions.call_ids(astore, sid)) == 2


async def test_every_key_has_an_owner_or_an_end(settings: Settings, astore: redis.asyncio.Redis) -> None:
    limited = settings.model_copy(update={"limits": {}})
    sids = [await a_run(limited, astore) for _ in range(3)]

    assert await unowned(astore) == []

    await aged(astore, sids[0])
    await Retention(astore, settings).look()
    assert await unowned(astore) == []
    await astore.set("errands:c:nobody", "left behind")
    assert await unowned(astore) == ["errands:c:nobody"]
