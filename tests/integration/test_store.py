"""Connections to the store: timeouts, repeats, the broker's URL, and what is said when the store is away."""

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
import redis
import redis.asyncio
from kombu.connection import Connection
from kombu.transport.redis import Channel

from errands_config.errors import ConfigError, StoreUnreachable
from errands_config.settings import Settings
from errands_config.store import (
    AIO_CONNECTIONS,
    COMMAND_SECONDS,
    CONNECT_SECONDS,
    LAUNCHER_SECONDS,
    REPEATS,
    aio,
    aio_blocking,
    blocking,
    broker_url,
    launcher_connection,
    ping,
    plain,
    translated,
)


@contextmanager
def store_that_hangs_up(settings: Settings) -> Generator[tuple[Settings, list[bytes]]]:
    """A store that closes every connection once it has read a command, and what it was asked."""
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as door:

        def hang_up() -> None:
            while True:
                try:
                    caller, _ = door.accept()
                except OSError:
                    return
                with caller:
                    asked.append(caller.recv(1000))

        listener = threading.Thread(target=hang_up)
        listener.start()
        try:
            yield settings.at(f"redis://127.0.0.1:{door.getsockname()[1]}/0"), asked
        finally:
            door.shutdown(socket.SHUT_RDWR)
            listener.join()


def reader(settings: Settings) -> redis.Redis:
    return blocking(settings, 1)


def areader(settings: Settings) -> redis.asyncio.Redis:
    return aio_blocking(settings, 1)


@pytest.mark.parametrize(("connect", "times"), [(plain, REPEATS + 1), (reader, 1), (launcher_connection, 1)])
def test_a_failed_command_is_repeated_only_where_no_loop_does_it(
    connect: Callable[[Settings], redis.Redis], times: int, settings: Settings
) -> None:
    with store_that_hangs_up(settings) as (unwell, asked), connect(unwell) as client:
        with pytest.raises(redis.ConnectionError):
            client.incr("n")
        assert [command for command in asked if b"INCR" in command] == asked[:1] * times


@pytest.mark.parametrize(("connect", "times"), [(aio, REPEATS + 1), (areader, 1)])
async def test_a_failed_asyncio_command_is_repeated_only_where_no_loop_does_it(
    connect: Callable[[Settings], redis.asyncio.Redis], times: int, settings: Settings
) -> None:
    with store_that_hangs_up(settings) as (unwell, asked):
        async with connect(unwell) as client:
            with pytest.raises(redis.ConnectionError):
                await client.incr("n")
        assert [command for command in asked if b"INCR" in command] == asked[:1] * times


@pytest.mark.parametrize(
    ("connect", "seconds"),
    [
        (plain, COMMAND_SECONDS),
        (aio, COMMAND_SECONDS),
        (launcher_connection, LAUNCHER_SECONDS),
        (partial(blocking, block_seconds=30), 31),
        (partial(aio_blocking, block_seconds=30), 31),
    ],
)
def test_every_connection_has_a_timeout_and_a_blocking_one_longer_than_it_blocks(
    connect: Callable[[Settings], redis.Redis | redis.asyncio.Redis], seconds: float, settings: Settings
) -> None:
    options = connect(settings).connection_pool.connection_kwargs
    assert options["socket_timeout"] == seconds
    assert 0 < options["socket_connect_timeout"] <= CONNECT_SECONDS


def test_a_blocking_read_that_gets_nothing_ends_without_an_error(settings: Settings, store: redis.Redis) -> None:
    with blocking(settings, 0.1) as client:
        assert client.blpop(["empty"], timeout=0.1) is None


async def test_more_asyncio_pipelines_than_connections_wait_and_all_succeed(
    settings: Settings, store: redis.Redis
) -> None:
    async def count(client: redis.asyncio.Redis) -> int:
        async with client.pipeline(transaction=False) as pipe:
            pipe.incr("n")
            (answer,) = await pipe.execute()
        return answer

    own_database = settings.at((settings.redis_url or "").replace("db=0", "db=9"))
    async with aio(own_database) as client:
        answers = await asyncio.gather(*(count(client) for _ in range(5 * AIO_CONNECTIONS)))
        assert sorted(answers) == list(range(1, 5 * AIO_CONNECTIONS + 1))
        assert 1 < sum(other["db"] == "9" for other in store.client_list()) <= AIO_CONNECTIONS


async def test_answers_are_text_on_every_connection(settings: Settings, store: redis.Redis) -> None:
    store.set("greeting", "grüße")
    for client in (plain(settings), blocking(settings, 1), launcher_connection(settings)):
        with client:
            assert client.get("greeting") == "grüße"
    for aclient in (aio(settings), aio_blocking(settings, 1)):
        async with aclient:
            assert await aclient.get("greeting") == "grüße"


def test_a_store_that_answers_passes_ping(settings: Settings, store: redis.Redis) -> None:
    ping(settings)


def test_a_store_that_is_away_is_named_with_what_to_do_and_without_its_password(settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(StoreUnreachable) as away:
        ping(settings.at(f"redis://user:hush@127.0.0.1:{port}/0"))
    assert f"redis://user:***@127.0.0.1:{port}/0 is not reachable" in str(away.value)
    assert "check ERRANDS_REDIS_URL" in str(away.value)
    assert "hush" not in str(away.value)


def test_a_store_that_is_silent_is_given_up_after_the_launchers_second(settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        started = time.monotonic()
        silent_one = settings.at(f"redis://127.0.0.1:{silent.getsockname()[1]}/0")
        with (
            launcher_connection(silent_one) as client,
            pytest.raises(StoreUnreachable, match="does not answer in time"),
            translated(silent_one),
        ):
            client.ping()
        assert 0.9 < time.monotonic() - started < 3


def test_a_refused_login_is_told_from_a_store_that_is_away(settings: Settings, store: redis.Redis) -> None:
    stranger = settings.at(f"unix://nobody:hush@{(settings.redis_url or '').removeprefix('unix://')}")
    with pytest.raises(StoreUnreachable, match="refuses the login") as refused:
        ping(stranger)
    assert "hush" not in str(refused.value)


def test_errors_of_our_own_scripts_are_not_taken_for_an_unreachable_store(
    settings: Settings, store: redis.Redis
) -> None:
    with pytest.raises(redis.ResponseError), translated(settings):
        store.eval("return redis.call('no-such-command')", 0)


def test_without_a_store_a_connection_is_refused_by_name(tmp_path: Path, clean_environment: None) -> None:
    with pytest.raises(ConfigError, match="ERRANDS_REDIS_URL: not set"):
        plain(Settings(home=tmp_path))


@pytest.mark.parametrize(
    ("url", "broker"),
    [
        ("redis://store", "redis://store:6379/0"),
        ("redis://store:6380/2", "redis://store:6380/2"),
        ("redis://store:6380?db=3", "redis://store:6380/3"),
        ("redis://:p%40s%2Fs@store/1", "redis://:p%40s%2Fs@store:6379/1"),
        ("redis://user:secret@[::1]:6380/0", "redis://user:secret@[::1]:6380/0"),
        ("unix:///run/a%20b/store.sock?db=2", "redis+socket:///run/a%20b/store.sock?virtual_host=2"),
        ("unix:///run/store.sock", "redis+socket:///run/store.sock?virtual_host=0"),
        ("unix://user:p%40ss@/run/store.sock", "redis+socket://user:p%40ss@/run/store.sock?virtual_host=0"),
        ("rediss://store/0", "rediss://store:6379/0?ssl_cert_reqs=required"),
        ("rediss://store/0?ssl_cert_reqs=none", "rediss://store:6379/0?ssl_cert_reqs=none"),
    ],
)
def test_the_broker_gets_the_same_store_in_its_own_spelling(
    url: str, broker: str, clean_environment: None, tmp_path: Path
) -> None:
    assert broker_url(Settings(redis_url=url, home=tmp_path)) == broker


@pytest.mark.parametrize(
    "url",
    [
        "redis://user:p%40s%2Fs@store:6380/2",
        "unix:///run/a%20b%3B%23+/store.sock?db=2",
        "unix://user:p%40ss@/run/store.sock?db=1",
        "rediss://store:6380/1?ssl_ca_certs=/etc/ca.pem&ssl_check_hostname=false",
    ],
)
def test_redis_py_and_kombu_read_the_same_address(url: str, clean_environment: None, tmp_path: Path) -> None:
    settings = Settings(redis_url=url, home=tmp_path)
    ours = plain(settings).connection_pool.connection_kwargs
    with Connection(broker_url(settings)) as connection:
        channel = Channel.__new__(Channel)  # its constructor would connect
        channel.connection = connection.transport
        theirs = channel._connparams()  # pyright: ignore[reportPrivateUsage]
    for key in ("host", "port", "path", "db", "username", "password", "ssl_ca_certs", "ssl_check_hostname"):
        assert (ours.get(key) or None) == (theirs.get(key) or None), key


def test_kombu_speaks_to_the_same_store(settings: Settings, store: redis.Redis) -> None:
    with Connection(broker_url(settings)) as connection, connection.SimpleQueue("letters") as queue:
        queue.put("hello")
        assert store.llen("letters") == 1
        assert queue.get(timeout=5).payload == "hello"
