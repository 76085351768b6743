"""Plain reads of the store, typed: our connections answer in text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

import redis.asyncio
from redis import exceptions

AWAY = (
    exceptions.ConnectionError,
    exceptions.TimeoutError,
    exceptions.ReadOnlyError,
    exceptions.OutOfMemoryError,
)
"""What a store raises that will be back by itself. Any other answer of it is a fault of ours."""

Store: TypeAlias = redis.asyncio.Redis
StreamEntry: TypeAlias = tuple[str, Mapping[str, str]]
"""Id and fields."""


async def field(store: Store, key: str, name: str) -> str | None:
    """One field of a hash."""
    return cast("str | None", await cast("Any", store.hget(key, name)))


async def fields(store: Store, key: str, names: Sequence[str]) -> list[str | None]:
    """Some fields of a hash, in the order asked."""
    return cast("list[str | None]", await cast("Any", store.hmget(key, list(names))))


async def field_of_each(store: Store, keys: Sequence[str], name: str) -> list[str | None]:
    """The same field of many hashes, in one round trip."""
    async with store.pipeline(transaction=False) as pipe:
        for key in keys:
            cast("Any", pipe.hget(key, name))
        return cast("list[str | None]", await pipe.execute())


async def fields_of_each(store: Store, keys: Sequence[str], names: Sequence[str]) -> list[list[str | None]]:
    """Some fields of many hashes, in one round trip."""
    async with store.pipeline(transaction=False) as pipe:
        for key in keys:
            cast("Any", pipe.hmget(key, list(names)))
        return cast("list[list[str | None]]", await pipe.execute())


async def whole(store: Store, key: str) -> dict[str, str]:
    """A whole hash."""
    return cast("dict[str, str]", await cast("Any", store.hgetall(key)))


async def field_names(store: Store, key: str) -> list[str]:
    """The names in a hash."""
    return cast("list[str]", await cast("Any", store.hkeys(key)))


async def drop_field(store: Store, key: str, name: str) -> None:
    """Take a field out of a hash."""
    await cast("Any", store.hdel(key, name))


async def texts(store: Store, *keys: str) -> list[str | None]:
    """The values of strings."""
    return cast("list[str | None]", await store.mget(*keys))


async def elements(store: Store, key: str, start: int = 0, stop: int = -1) -> list[str]:
    """A part of a list."""
    return cast("list[str]", await cast("Any", store.lrange(key, start, stop)))


async def count(store: Store, key: str) -> int:
    """The length of a list."""
    return cast("int", await cast("Any", store.llen(key)))


async def members(store: Store, key: str) -> set[str]:
    """A whole set."""
    return cast("set[str]", await cast("Any", store.smembers(key)))


async def ranked(store: Store, key: str, start: int = 0, stop: int = -1, *, newest_first: bool = False) -> list[str]:
    """A part of a sorted set, lowest score first unless told otherwise."""
    return cast("list[str]", await store.zrange(key, start, stop, desc=newest_first))


async def newest_of_each(store: Store, spans: Sequence[tuple[str, int, int]]) -> list[list[tuple[str, float]]]:
    """Parts of many sorted sets with their scores, highest first, in one round trip: (key, start, stop before)."""
    async with store.pipeline(transaction=False) as pipe:
        for key, start, stop in spans:
            cast("Any", pipe.zrange(key, start, stop - 1, desc=True, withscores=True))
        return cast("list[list[tuple[str, float]]]", await pipe.execute())


async def rank(store: Store, key: str, member: str) -> int | None:
    """The place of a member in a sorted set, from 0; None if it is not in it."""
    return cast("int | None", await cast("Any", store.zrank(key, member)))


async def size(store: Store, key: str) -> int:
    """The number of members of a sorted set."""
    return await store.zcard(key)


async def scores(store: Store, key: str) -> dict[str, float]:
    """A whole sorted set."""
    return dict(cast("list[tuple[str, float]]", await store.zrange(key, 0, -1, withscores=True)))


async def upto(store: Store, key: str, score: float, count: int) -> list[str]:
    """The lowest members of a sorted set up to a score."""
    found = await store.zrange(key, "-inf", score, byscore=True, offset=0, num=count)
    return cast("list[str]", found)


async def lowest(store: Store, key: str, count: int) -> list[tuple[str, float]]:
    """The lowest members of a sorted set with their scores."""
    return cast("list[tuple[str, float]]", await store.zrange(key, 0, count - 1, withscores=True))


async def passed(store: Store, key: str, moment: float) -> tuple[int, float]:
    """How many members of a sorted set have a score up to this moment, and the lowest score; else the moment."""
    number = await store.zcount(key, "-inf", moment)
    first = await lowest(store, key, 1) if number else []
    return number, first[0][1] if first else moment


async def channels(store: Store, pattern: str) -> list[str]:
    """The channels that somebody listens on."""
    return cast("list[str]", await cast("Any", store.pubsub_channels(pattern)))


async def letters_after(store: Store, key: str, after: str) -> list[tuple[str, list[str]]]:
    """Stream entries later than an id, each with its fields in a row, as the scripts answer them."""
    found = cast("list[StreamEntry]", await store.xrange(key, f"({after}", "+"))
    return [(seq, [part for pair in entry.items() for part in pair]) for seq, entry in found]


async def newest(store: Store, key: str, count: int) -> list[StreamEntry]:
    """The newest entries of a stream, newest first."""
    return cast("list[StreamEntry]", await store.xrevrange(key, count=count))


async def follow(store: Store, key: str, after: str, block_ms: int) -> list[StreamEntry]:
    """Stream entries later than an id; waits for some up to `block_ms`. Wants a blocking connection."""
    found: Any = await store.xread({key: after}, block=block_ms)
    return cast("list[StreamEntry]", found[0][1]) if found else []


async def pop_next(store: Store, key: str, seconds: float) -> str | None:
    """The next element of a list; waits for one up to `seconds`. Wants a blocking connection."""
    found: Any = await cast("Any", store.blpop([key], timeout=seconds))
    return cast("str", found[1]) if found else None


async def now_ms(store: Store) -> int:
    """The store's time."""
    seconds, micros = await store.time()
    return seconds * 1000 + micros // 1000
