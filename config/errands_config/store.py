"""Connections to the store: one factory for each use, each with its own timeouts and its own rule for repeats.

The client library repeats a command whose connection failed, so a script may run twice with the same arguments; every
script bears that. Where a loop stands around the command anyway, the library does not repeat: the loop is to notice.
All connections answer in text and speak RESP2: the same answers from Redis and Valkey, and no extra greeting.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TypedDict
from urllib.parse import quote, urlencode

import redis
import redis.asyncio
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import ExponentialWithJitterBackoff, NoBackoff
from redis.connection import parse_url
from redis.exceptions import AuthenticationError, AuthorizationError, BusyLoadingError, OutOfMemoryError, ReadOnlyError
from redis.retry import Retry

from errands_config.aio_connections import pool
from errands_config.errors import ConfigError, StoreUnreachable
from errands_config.not_now import NotNow, tell_apart
from errands_config.settings import Settings
from errands_config.shared_connection import BlockingClient, SharingClient

COMMAND_SECONDS = 5.0
"""Longest wait for an answer: a commit takes milliseconds, a slow disk under `durable` a second or two."""
CONNECT_SECONDS = 3.0
"""Two lost packets of a handshake on a network that works; a host that is away is found out soon."""
LAUNCHER_SECONDS = 1.0
"""One beat: a worker must know at its next beat that this one failed."""
BLOCKING_SLACK_SECONDS = 1.0
"""What a blocking read may take on top of the time that it blocks."""
REPEATS = 5
"""With the pauses between them about two seconds in all: a store that restarts is back by then."""
AIO_CONNECTIONS = 64
"""Most pipelines of one client at a time. Further ones wait; the library's own pool fails the 101st."""
AIO_WAIT_SECONDS = 10.0
"""Longest wait for a free connection, then `redis.ConnectionError`: the store is as good as away."""

tell_apart()


class _Options(TypedDict):
    socket_timeout: float
    socket_connect_timeout: float
    decode_responses: bool
    protocol: int
    driver_info: None


def plain(settings: Settings) -> redis.Redis:
    """A connection pool for commands and scripts that answer at once. Repeats a failed command."""
    retry = Retry(ExponentialWithJitterBackoff(base=0.05, cap=1.0), REPEATS)
    return redis.Redis.from_url(store_url(settings), retry=retry, **_options(COMMAND_SECONDS))


def blocking(settings: Settings, block_seconds: float) -> redis.Redis:
    """For reads that block up to `block_seconds`. No repeats: the loop around the read is to notice."""
    return _without_repeats(settings, block_seconds + BLOCKING_SLACK_SECONDS)


def launcher_connection(settings: Settings) -> redis.Redis:
    """For the beat of a worker. No repeats: the next beat is the repeat, and connects anew at once."""
    return _without_repeats(settings, LAUNCHER_SECONDS, connect_seconds=LAUNCHER_SECONDS)


def aio(settings: Settings) -> redis.asyncio.Redis:
    """`plain` for asyncio; all commands share one connection. Close it with `aclose`."""
    retry = AsyncRetry(ExponentialWithJitterBackoff(base=0.05, cap=1.0), REPEATS)
    return _pooled(settings, AIO_CONNECTIONS, COMMAND_SECONDS, retry, SharingClient)


def aio_blocking(settings: Settings, block_seconds: float) -> redis.asyncio.Redis:
    """`blocking` for asyncio, with one connection: a client for each reader. Close it with `aclose`."""
    return _pooled(settings, 1, block_seconds + BLOCKING_SLACK_SECONDS, AsyncRetry(NoBackoff(), 0), BlockingClient)


def ping(settings: Settings) -> None:
    """Say within a few seconds whether the store answers; StoreUnreachable if not. For entry points."""
    with translated(settings), _without_repeats(settings, CONNECT_SECONDS) as client:
        client.ping()


@contextmanager
def translated(settings: Settings) -> Generator[None]:
    """Turn the library's connection errors into StoreUnreachable, with the store's address and what to do.

    For the edges only: loops that outlive a store that is away catch the library's own errors.
    """
    try:
        yield
    except (redis.ConnectionError, redis.TimeoutError, ReadOnlyError, OutOfMemoryError) as error:
        raise StoreUnreachable(f"{settings.shown_url} {_trouble(error)}") from error


def store_url(settings: Settings) -> str:
    """The store's URL for redis-py. ConfigError if there is none: an embedded store must be started first."""
    if settings.redis_url is None:
        raise ConfigError("not set, and no embedded store was started for this process", path="ERRANDS_REDIS_URL")
    return settings.redis_url


def broker_url(settings: Settings) -> str:
    """The broker that the settings name; else the same store, as Celery and kombu want to have it named.

    kombu reads `rediss://` without options as *unverified* TLS; here the certificate is verified, as redis-py does,
    unless the URL says otherwise.
    """
    if settings.broker_url is not None:
        return settings.broker_url.get_secret_value()
    parts = parse_url(store_url(settings))
    secret = f":{quote(parts['password'], safe='')}" if "password" in parts else ""
    login = f"{quote(parts.get('username', ''), safe='')}{secret}@" if "username" in parts or secret else ""
    database = parts.get("db", 0)
    if "path" in parts:
        return f"redis+socket://{login}{quote(parts['path'])}?virtual_host={database}"
    host = parts.get("host", "localhost")
    address = f"{login}{f'[{host}]' if ':' in host else host}:{parts.get('port', 6379)}/{database}"
    if parts.get("connection_class") is not redis.SSLConnection:
        return f"redis://{address}"
    tls = {"ssl_cert_reqs": "required"} | {k: v for k, v in parts.items() if k.startswith("ssl_")}
    return f"rediss://{address}?{urlencode(tls)}"


def _without_repeats(settings: Settings, seconds: float, *, connect_seconds: float = CONNECT_SECONDS) -> redis.Redis:
    options = _options(seconds, connect_seconds)
    return redis.Redis.from_url(store_url(settings), retry=Retry(NoBackoff(), 0), **options)


def _pooled(
    settings: Settings, connections: int, seconds: float, retry: AsyncRetry, client: type[SharingClient]
) -> redis.asyncio.Redis:
    connection_pool = pool(
        store_url(settings),
        max_connections=connections,
        timeout=AIO_WAIT_SECONDS,
        retry=retry,
        **_options(seconds),
    )
    return client.from_pool(connection_pool)


def _options(seconds: float, connect_seconds: float = CONNECT_SECONDS) -> _Options:
    return {
        "socket_timeout": seconds,
        "socket_connect_timeout": connect_seconds,
        "decode_responses": True,
        "protocol": 2,
        "driver_info": None,  # else two more commands at each connect, to tell the store the library's version
    }


def _trouble(error: Exception) -> str:
    match error:
        case AuthenticationError() | AuthorizationError():
            return "refuses the login: check user and password in ERRANDS_REDIS_URL"
        case BusyLoadingError():
            return "is still reading its data: try again in a moment"
        case NotNow():
            return f"cannot do that just now ({error}): look at its own log"
        case ReadOnlyError():
            return "is a read-only replica: let ERRANDS_REDIS_URL name the primary"
        case OutOfMemoryError():
            return "has no memory left (maxmemory): give it more, or end old sessions"
        case redis.TimeoutError():
            return f"does not answer in time ({error}): check its load, and ERRANDS_REDIS_URL"
        case _:
            return f"is not reachable ({error}): start it, or check ERRANDS_REDIS_URL"
