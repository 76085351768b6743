"""How fast an orchestrator meets 5,000 sessions that fall due at the same moment, as after its restart."""

from __future__ import annotations

import asyncio
import time

from bench.dispatch import OFFER
from bench.figure import Figure
from bench.product import Turns, agent, connected, made_of, product
from bench.stage import Store
from errands_config import keys
from errands_config.scripts.script import arun
from errands_config.scripts.sessions import Definitions, create, send_mail
from errands_orchestrator import reads

SESSIONS = 5_000
AT_ONCE = 50
GOAL_SECONDS = 5.0


async def _fall_due(redis: reads.Store, made: Definitions) -> None:
    """Sessions with one letter each that asks nothing of the model; nobody is there to read it."""

    async def one(number: int) -> None:
        sid = f"sleeper-{number}"
        await arun(redis, create(sid, "bench", made))
        await arun(redis, send_mail(sid, "wake", "control", "resume"))

    for first in range(0, SESSIONS, AT_ONCE):
        await asyncio.gather(*(one(number) for number in range(first, first + AT_ONCE)))


async def _met(redis: reads.Store) -> float:
    """Seconds until every session was acquired, read, committed and parked."""
    began = time.perf_counter()
    while await redis.zcard(keys.DUE):  # noqa: ASYNC110 - the store sets no event
        await asyncio.sleep(0.01)
    return time.perf_counter() - began


async def _measure(store: Store) -> Figure:
    async with connected(store.settings) as redis:
        await _fall_due(redis, await made_of(redis, agent("nobody"), [OFFER]))
        async with product(store.settings, Turns([])):
            seconds = await _met(redis)
        unread = sum([await redis.xlen(keys.mail(f"sleeper-{number}")) for number in range(0, SESSIONS, 100)])
    if unread:
        raise RuntimeError(f"{unread} letters were left unread")
    return Figure(
        "5,000 sessions due at once: acquired, read, committed",
        seconds * 1000,
        GOAL_SECONDS * 1000,
        "ms",
        "fast",
        note=f"{SESSIONS / seconds:,.0f} sessions a second",
    )


def waking(store: Store) -> Figure:
    """One orchestrator, no model call."""
    return asyncio.run(_measure(store))
