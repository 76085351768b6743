"""Finding calls in a real store: newest first over all sessions, and not more read than is asked for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any, cast

import pytest
import redis
import redis.asyncio
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from errands_config import keys
from errands_config.errors import NotFound
from errands_config.settings import Settings
from errands_config.store import aio
from errands_config.wire import CallState
from errands_orchestrator.call_search import AT_ONCE, OPEN, PAGE, Wanted, newest_first, wanted_calls

Layout = list[list[int]]
"""For each session the moments of its calls."""


def write(store: redis.Redis, layout: Layout, state: str = "completed") -> list[tuple[int, str]]:
    """Records of sessions and calls; answers (moment, id) of all calls, newest first."""
    made: list[tuple[int, str]] = []
    with store.pipeline(transaction=False) as pipe:
        for number, moments in enumerate(layout):
            pipe.zadd(keys.SESSIONS, {f"s{number}": number})
            pipe.hset(keys.session(f"s{number}"), "status", "idle")
            for place, moment in enumerate(moments):
                cid = f"{moment:08d}-{number:04d}-{place:04d}"
                made.append((moment, cid))
                pipe.zadd(keys.calls(f"s{number}"), {cid: moment})
                fields = {"session": f"s{number}", "tool": f"t{moment % 3}", "state": state, "created": moment}
                pipe.hset(keys.call(cid), mapping=cast("Any", fields))
        pipe.execute()
    return sorted(made, reverse=True)


async def listed(found: AsyncIterator[str]) -> list[str]:
    return [cid async for cid in found]


def sids(layout: Layout) -> list[str]:
    return [f"s{number}" for number in range(len(layout))]


@hypothesis_settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.lists(st.integers(1, 40), max_size=2 * PAGE + 5), max_size=6),
    st.integers(0, 41),
)
async def test_calls_of_all_sessions_come_in_one_order_whatever_their_layout(
    settings: Settings, store: redis.Redis, layout: Layout, since: int
) -> None:
    store.flushall()
    made = write(store, layout)

    async with aio(settings) as there:
        found = await listed(newest_first(there, sids(layout), since))

    assert found == [cid for moment, cid in made if moment >= since]


async def test_the_newest_of_thousands_of_sessions_take_few_round_trips(
    store: redis.Redis, astore: redis.asyncio.Redis
) -> None:
    sessions = 2 * AT_ONCE + 1
    made = write(store, [[number, number + sessions] for number in range(sessions)])
    before, read = commands(store, "zrange"), commands(store, "hmget")

    rows = await wanted_calls(astore, Wanted(), 20)

    assert [row.id for row in rows] == [cid for _, cid in made[:20]]
    # the list of sessions, the newest call of each, and one further page of those that may matter
    assert commands(store, "zrange") - before <= 1 + sessions + PAGE
    assert commands(store, "hmget") - read == 2 * 20


async def test_what_was_published_and_is_open_is_found_without_looking_at_sessions(
    store: redis.Redis, astore: redis.asyncio.Redis
) -> None:
    write(store, [[1, 2, 3] for _ in range(50)])
    running = write(store, [[100, 101], [102]], state="running")
    store.zadd(keys.WATCH, {cid: 0 for _, cid in running})
    before = commands(store, "zrange")

    rows = await wanted_calls(astore, Wanted(states=frozenset({CallState.RUNNING})))

    assert [row.id for row in rows] == [cid for _, cid in running]
    assert commands(store, "zrange") - before == 1


def commands(store: redis.Redis, name: str) -> int:
    stats = cast("dict[str, dict[str, int]]", store.info("commandstats"))
    return stats.get(f"cmdstat_{name}", {}).get("calls", 0)


async def test_filters_are_met_by_all_that_is_found_and_the_limit_counts_what_is_found(
    store: redis.Redis, astore: redis.asyncio.Redis
) -> None:
    made = write(store, [list(range(1, 200)), list(range(5, 150))])
    wanted = Wanted(tool="t1", since=50)
    expected = [cid for moment, cid in made if moment % 3 == 1 and moment >= 50]

    assert ids(await wanted_calls(astore, wanted)) == expected
    assert ids(await wanted_calls(astore, wanted, 7)) == expected[:7]
    assert ids(await wanted_calls(astore, replace(wanted, session="s1"))) == [
        cid for cid in expected if "-0001-" in cid
    ]
    assert await wanted_calls(astore, Wanted(states=OPEN)) == []


def ids(rows: Sequence[Any]) -> list[str]:
    return [row.id for row in rows]


async def test_of_thousands_of_calls_only_those_that_are_wanted_leave_the_store(
    store: redis.Redis, astore: redis.asyncio.Redis
) -> None:
    write(store, [[moment] * 20 for moment in range(1, 150)])
    [(_, cid)] = write(store, [[1_000]], state="waiting")
    before = commands(store, "hmget")

    assert ids(await wanted_calls(astore, Wanted(states=OPEN, tool="t1"))) == [cid]
    assert await wanted_calls(astore, Wanted(states=OPEN, tool="t2")) == []

    seen_in_the_store = 2 * (149 * 20 + 1)
    assert commands(store, "hmget") - before == seen_in_the_store + 1


async def test_a_call_that_waits_for_a_slot_is_found_though_it_was_never_published(
    store: redis.Redis, astore: redis.asyncio.Redis
) -> None:
    [(_, cid)] = write(store, [[7]], state="waiting")

    assert ids(await wanted_calls(astore, Wanted(states=OPEN))) == [cid]


async def test_calls_that_come_while_it_reads_are_not_told_twice(
    store: redis.Redis, astore: redis.asyncio.Redis
) -> None:
    made = write(store, [list(range(1, 3 * PAGE))])
    found: list[str] = []

    async for cid in newest_first(astore, ["s0"]):
        found.append(cid)
        store.zadd(keys.calls("s0"), {f"later-{len(found)}": 1_000 + len(found)})

    assert found == [cid for _, cid in made]


async def test_an_unknown_session_is_named(astore: redis.asyncio.Redis) -> None:
    with pytest.raises(NotFound, match="no session 'nobody'"):
        await wanted_calls(astore, Wanted(session="nobody"))
