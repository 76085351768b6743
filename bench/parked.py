"""Figure 5: what 5,000 sessions that wait for their calls cost the orchestrator.

Run in a process of its own, so that its memory and its connections are the orchestrator's and nothing else's.
"""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from bench.cpu import cpu_now, rss_bytes
from bench.dispatch import OFFER
from bench.figure import Figure
from bench.product import agent, calling, connected, made_of, product, start
from bench.stage import Store, own_store
from bench.waiting import until
from errands_config import keys
from errands_orchestrator import reads
from errands_orchestrator.models import ModelRequest, Reply

SESSIONS = 5_000
FIRST = 600
"""Sessions that come before the measuring, three times as many at once: they fill pools and caches."""
AT_ONCE = 40
IDLE_SECONDS = 4.0
GOAL_KB = 6.0
GOAL_CONNECTIONS = 0.01
"""None; but the pool, which has a bound, may grow by one or two just then."""
GOAL_IDLE_PERCENT = 2.0
_WAITING = calling("bench_nothing", arguments={"text": "x"})


def parked() -> list[Figure]:
    """Measure in a fresh process."""
    command = [sys.executable, "-m", "bench.parked"]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, check=True)
    return [Figure(**fields) for fields in orjson.loads(done.stdout)]


class _Calls:
    """A model that always makes a call. Nobody serves its queue, so every session parks behind its first turn."""

    async def reply(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> Reply:
        """One call."""
        return _WAITING

    async def close(self) -> None:
        """Nothing to give back."""


@dataclass(frozen=True, slots=True)
class _Seen:
    bytes: int
    connections: int


async def _measure(store: Store) -> list[Figure]:
    settings = store.settings
    async with connected(settings) as redis, product(settings, _Calls()) as ownership:

        async def park(count: int, at_once: int) -> float:
            began = time.perf_counter()
            for _ in range(count // at_once):
                await asyncio.gather(*(start(redis, definition) for _ in range(at_once)))
                await until(lambda: not ownership.in_hand)
            return time.perf_counter() - began

        definition = await made_of(redis, agent("nobody"), [OFFER])
        await park(FIRST, 3 * AT_ONCE)
        before = await _seen(redis)
        seconds = await park(SESSIONS, AT_ONCE)
        await _all_parked(redis)
        after = await _seen(redis)
        idle, idle_store = await _idle(store.pid)
    grown = max(0, after.connections - before.connections)
    return [
        Figure("memory of a parked session", (after.bytes - before.bytes) / SESSIONS / 1000, GOAL_KB, "kB", "fast",
               note=f"{SESSIONS:,} sessions, each {seconds / SESSIONS * 1000:.1f} ms to start and park"),
        Figure("connections of a parked session", grown / SESSIONS, GOAL_CONNECTIONS, "each", "fast",
               note=f"{grown} more for {SESSIONS:,} sessions, {after.connections} in all"),
        Figure("idle CPU with 5,000 parked sessions", idle * 100, GOAL_IDLE_PERCENT, "%", "fast",
               note=f"of one core; the store {idle_store * 100:.1f} %"),
    ]  # fmt: skip


async def _all_parked(redis: reads.Store) -> None:
    """A session may have been left to the look that comes once a second."""
    while await redis.zcard(keys.DUE):  # noqa: ASYNC110 - the store sets no event
        await asyncio.sleep(0.05)


async def _seen(redis: reads.Store) -> _Seen:
    gc.collect()
    clients: Any = await redis.info("clients")
    return _Seen(rss_bytes(), clients["connected_clients"])


async def _idle(store: int) -> tuple[float, float]:
    """CPU of this process and of the store, as a share of one core."""
    before, began = cpu_now(None, store), time.perf_counter()
    await asyncio.sleep(IDLE_SECONDS)
    used, seconds = cpu_now(None, store) - before, time.perf_counter() - began
    return used.client / seconds, used.store / seconds


def main() -> None:
    """Print the figures as JSON."""
    with own_store() as store:
        figures = asyncio.run(_measure(store))
    sys.stdout.buffer.write(orjson.dumps([dataclasses.asdict(one) for one in figures]))


if __name__ == "__main__":
    main()
