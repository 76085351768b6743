"""Many asyncio commands on one connection: in order, in time, and whole again after every break."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Generator
from contextlib import contextmanager

import pytest
import redis

from errands_config import store as stores
from errands_config.settings import Settings


def in_database(settings: Settings, number: int) -> Settings:
    return settings.at((settings.redis_url or "").replace("db=0", f"db={number}"))


def connections(store: redis.Redis, database: int) -> list[dict[str, str]]:
    return [other for other in store.client_list() if other["db"] == str(database)]


@contextmanager
def silent_store(settings: Settings) -> Generator[Settings]:
    """A store that takes connections and commands and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        yield settings.at(f"redis://127.0.0.1:{door.getsockname()[1]}/0")


async def test_a_thousand_commands_share_a_connection_and_each_gets_its_own_answer(
    settings: Settings, store: redis.Redis
) -> None:
    async with stores.aio(in_database(settings, 9)) as client:
        texts = [f"text {number}" for number in range(1000)]
        assert await asyncio.gather(*(client.echo(text) for text in texts)) == texts
        assert len(connections(store, 9)) == 1


async def test_a_broken_connection_is_replaced_and_no_command_is_lost(settings: Settings, store: redis.Redis) -> None:
    async with stores.aio(in_database(settings, 9)) as client:
        for _ in range(5):
            await client.incr("n")
            for one in connections(store, 9):
                store.client_kill_filter(_id=one["id"])
        assert await client.get("n") == "5"


async def test_commands_that_are_not_answered_in_time_fail_all_together(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "COMMAND_SECONDS", 0.05)
    monkeypatch.setattr(stores, "REPEATS", 0)
    with silent_store(settings) as silent:
        async with stores.aio(silent) as client:
            failed = await asyncio.gather(*(client.incr("n") for _ in range(3)), return_exceptions=True)
    assert [type(one) for one in failed] == [redis.TimeoutError] * 3


async def test_a_long_answer_may_take_longer_than_the_wait_for_one(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "COMMAND_SECONDS", 0.2)
    monkeypatch.setattr(stores, "REPEATS", 0)

    left = asyncio.Event()

    async def dribble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for byte in b"$8\r\nslow one\r\n":
            writer.write(bytes([byte]))
            await asyncio.sleep(0.05)
        while await reader.read(100):
            pass
        writer.close()
        left.set()

    async with await asyncio.start_server(dribble, "127.0.0.1", 0) as slow:
        port = slow.sockets[0].getsockname()[1]
        async with stores.aio(settings.at(f"redis://127.0.0.1:{port}/0")) as client:
            assert await client.get("n") == "slow one"
        await left.wait()


async def test_a_blocking_read_that_is_cancelled_keeps_nobody_waiting(settings: Settings, store: redis.Redis) -> None:
    async with stores.aio_blocking(settings, 5) as client:
        reading = asyncio.ensure_future(client.blpop(["empty"], timeout=5))
        await asyncio.sleep(0)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert await asyncio.wait_for(client.echo("next"), 1) == "next"


async def test_a_refused_command_raises_and_the_connection_serves_on(settings: Settings, store: redis.Redis) -> None:
    async with stores.aio(in_database(settings, 9)) as client:
        await client.set("text", "x")
        refused, fine = await asyncio.gather(client.incr("text"), client.echo("fine"), return_exceptions=True)
        assert isinstance(refused, redis.ResponseError)
        assert fine == "fine"
        assert len(connections(store, 9)) == 1


async def test_a_client_that_is_closed_while_it_connects_leaves_nothing_behind(settings: Settings) -> None:
    with silent_store(settings) as silent:
        client = stores.aio(silent.at((silent.redis_url or "").replace("redis://", "redis://user:word@")))
        asking = asyncio.ensure_future(client.ping())
        await asyncio.sleep(0.01)
        await client.aclose()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
