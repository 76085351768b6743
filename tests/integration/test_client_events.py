"""The events of a session, as an application follows them: in order, each once, and no gap without a word."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from pathlib import Path

import pytest
import redis.asyncio
from tests.integration.errand import answering, call, calls, make_agent
from tests.integration.fake_worker import fake_worker
from tests.waiting import aeventually

from errands_config import keys
from errands_config.embedded import EmbeddedStore
from errands_config.errors import ConfigError, NotFound, StoreUnreachable
from errands_config.settings import Settings
from errands_config.store import aio
from errands_orchestrator import Client, Event
from errands_orchestrator.models.model import Reply
from errands_orchestrator.models.seen import SeenMessage

AGENT = make_agent(tools=["work"])
WHOLE_RUN = [
    "run.started", "turn.started", "turn.completed", "tool_call.queued", "tool_call.started", "tool_call.completed",
    "turn.started", "turn.completed", "run.ended",
]  # fmt: skip


def works_once(messages: Sequence[SeenMessage]) -> Reply:
    return Reply("done") if messages[-1].role == "tool" else calls(call("work", x=1))


@pytest.fixture
async def client(settings: Settings, astore: redis.asyncio.Redis) -> AsyncIterator[Client]:
    async with fake_worker(settings, "work"), Client(settings, make_model=answering(works_once)) as client:
        yield client


async def a_run(client: Client) -> str:
    return (await client.run_until_blocked(AGENT, "go")).session


async def kept(client: Client, session: str, since: str = "0-0") -> list[Event]:
    return [event async for event in client.events(session, since=since, follow=False)]


async def test_a_run_is_told_from_its_beginning_to_its_end(client: Client) -> None:
    session = await a_run(client)

    events = await kept(client, session)

    assert [event.kind for event in events] == WHOLE_RUN
    assert {event.session for event in events} == {session}
    assert [event.at for event in events] == sorted(event.at for event in events)
    [row] = await client.calls(session)
    assert {(event.call, event.tool) for event in events if event.kind.startswith("tool_call.")} == {(row.id, "work")}
    assert [event.kind for event in events if event.ends_call] == ["tool_call.completed"]
    assert events[-1].facts == {"status": "completed"}


async def test_from_every_position_exactly_the_rest_is_told(client: Client) -> None:
    session = await a_run(client)
    events = await kept(client, session)

    for position, event in enumerate(events, 1):
        assert await kept(client, session, since=event.id) == events[position:]
    assert await client.position(session) == events[-1].id


async def test_what_is_still_to_come_is_told_as_it_comes(client: Client) -> None:
    session = await client.start(AGENT, "go")
    told: list[str] = []

    async def watch() -> None:
        async with aclosing(client.events(session)) as events:
            async for event in events:
                told.append(event.kind)
                if event.kind == "run.ended":
                    return

    watching = asyncio.create_task(watch())
    await client.resume(session)
    await asyncio.wait_for(watching, 10)

    assert told == WHOLE_RUN


async def test_a_position_whose_event_is_gone_is_told_as_a_reset(client: Client, astore: redis.asyncio.Redis) -> None:
    session = await a_run(client)
    events = await kept(client, session)
    await astore.xtrim(keys.events(session), maxlen=3, approximate=False)

    for lost in ("0-0", events[0].id):
        reset, *rest = await kept(client, session, since=lost)
        assert (reset.kind, reset.id, reset.session) == ("reset", lost, session)
        assert rest == events[-3:]
    assert await kept(client, session, since=events[-3].id) == events[-2:]


async def test_a_watcher_that_falls_behind_what_is_kept_is_told(client: Client, astore: redis.asyncio.Redis) -> None:
    session = await a_run(client)
    async with aclosing(client.events(session)) as events:
        seen = [await anext(events) for _ in WHOLE_RUN]
        assert [event.kind for event in seen] == WHOLE_RUN

        await client.send(session, "again")
        await client.resume(session)
        await astore.xtrim(keys.events(session), maxlen=2, approximate=False)

        assert [(await anext(events)).kind for _ in range(3)] == ["reset", "turn.completed", "run.ended"]


async def test_a_position_that_the_store_does_not_know_is_a_reset_and_what_comes_is_told(client: Client) -> None:
    session = await a_run(client)
    async with aclosing(client.events(session, since="9999999999999-0")) as events:
        assert (await anext(events)).kind == "reset"

        await client.send(session, "again")
        await client.resume(session)

        assert (await anext(events)).kind == "run.started"


async def test_a_session_without_events_has_none_and_is_no_reset(client: Client) -> None:
    session = await client.start(AGENT)

    assert await kept(client, session) == []
    assert await client.position(session) == "0-0"


async def test_what_cannot_be_followed_is_said(client: Client) -> None:
    session = await client.start(AGENT)

    with pytest.raises(ConfigError, match="is not the id of an event"):
        await kept(client, session, since="yesterday")
    with pytest.raises(NotFound):
        await kept(client, "s")
    with pytest.raises(NotFound):
        await client.position("s")


async def test_who_follows_a_session_that_is_deleted_is_told(client: Client, astore: redis.asyncio.Redis) -> None:
    session = await a_run(client)
    position = await client.position(session)
    async with asyncio.timeout(20), aclosing(client.events(session, since=position)) as events:
        coming = asyncio.create_task(first(events))
        await astore.delete(keys.session(session), keys.events(session))
        with pytest.raises(NotFound):
            await coming


async def test_who_follows_events_waits_for_a_store_that_is_demoted_for_a_moment(
    settings: Settings, tmp_path: Path
) -> None:
    with EmbeddedStore(tmp_path / "own", "durable") as own:
        here, model = settings.at(own.url), answering(lambda _: Reply("done"))
        async with aio(here) as store, Client(here, make_model=model) as client:
            session = (await client.run_until_blocked(make_agent(), "go")).session
            position = await client.position(session)
            async with asyncio.timeout(20), aclosing(client.events(session, since=position)) as events:
                coming = asyncio.create_task(first(events))
                await aeventually(lambda: reading(store))
                await store.replicaof("127.0.0.1", "1")
                await store.replicaof("NO", "ONE")
                await client.send(session, "again")
                await client.resume(session)
                assert (await coming).kind == "run.started"


async def reading(store: redis.asyncio.Redis) -> bool:
    return any("xread" in str(one["cmd"]) for one in await store.client_list())


async def test_an_iterator_that_is_closed_gives_its_connection_back(
    client: Client, astore: redis.asyncio.Redis
) -> None:
    session = await a_run(client)

    async def connections() -> int:
        return len(await astore.client_list())

    before = await connections()
    for _ in range(3):
        async with aclosing(client.events(session)) as events:
            assert (await anext(events)).kind == "run.started"

    async def as_before() -> bool:
        return await connections() <= before

    await aeventually(as_before)


async def test_who_follows_events_starts_an_embedded_store_again_that_was_killed(
    tmp_path: Path, clean_environment: None
) -> None:
    settings = Settings(home=tmp_path / "home", durability="durable")
    async with Client(settings, make_model=answering(lambda _: Reply("done"))) as client:
        session = (await client.run_until_blocked(make_agent(), "go")).session
        position = await client.position(session)
        async with asyncio.timeout(20), aclosing(client.events(session, since=position)) as events:
            coming = asyncio.create_task(first(events))
            await aeventually(lambda: watched(settings))
            await killed(settings)

            await aeventually(lambda: sent(client, session))
            assert await client.resume(session) == "done"
            assert (await coming).kind == "run.started"


async def first(events: AsyncIterator[Event]) -> Event:
    return await anext(events)


async def watched(settings: Settings) -> bool:
    async with server(settings) as store:
        return any("xread" in str(client["cmd"]) for client in await store.client_list())


async def killed(settings: Settings) -> None:
    async with server(settings) as store:
        os.kill((await store.info("server"))["process_id"], signal.SIGKILL)


def server(settings: Settings) -> redis.asyncio.Redis:
    return redis.asyncio.Redis(unix_socket_path=str(settings.home / "store" / "valkey.sock"), protocol=2)


async def sent(client: Client, session: str) -> bool:
    try:
        await client.send(session, "again", id="m-1")
    except StoreUnreachable:
        return False
    return True
