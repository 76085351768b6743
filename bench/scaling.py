"""How the rate of calls grows with workers and orchestrators: 4 slots a worker, tools that sleep 100 ms.

Real processes: `errands worker` with 4 slots each, `errands orchestrator`, and sessions of a scripted model.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager

from bench.cpu import machine_now, share_since
from bench.figure import Figure
from bench.product import connected
from bench.stage import ROOT, Store, own_store, product_worker
from errands_config import keys
from errands_config.agent import parse_agent
from errands_config.settings import Settings
from errands_orchestrator import reads, sessions
from errands_orchestrator.brief import Toolset
from errands_orchestrator.catalogue import live_offers, tools_of
from errands_orchestrator.definitions import StoredAgent, definitions

SLOTS = 4
SLEEP_SECONDS = 0.1
CALLS = 40
"""Of one session, in one turn."""
SESSIONS_A_WORKER = 6
GOAL = 1 / 0.9
"""Linear growth as a multiple of what was reached."""


def scaling() -> Generator[Figure]:
    """1, 2 and 4 workers under one orchestrator, then 4 under two."""
    alone = _rate(workers=1, orchestrators=1)
    for workers, orchestrators in ((2, 1), (4, 1), (4, 2)):
        rate = _rate(workers=workers, orchestrators=orchestrators)
        yield Figure(
            f"linear growth against the rate of {workers} workers, {orchestrators} orchestrator(s)",
            workers * alone[0] / rate[0],
            GOAL,
            note=f"{rate[0]:.0f} calls/s, of {workers * SLOTS / SLEEP_SECONDS:.0f} ideal; CPU {rate[1]:.0%}; "
            f"1 worker: {alone[0]:.0f}",
        )


def _rate(*, workers: int, orchestrators: int) -> tuple[float, float]:
    """Calls a second from the first start to the last end, and the share of all cores in use meanwhile."""
    with own_store() as store, ExitStack() as running:
        for _ in range(workers):
            running.enter_context(product_worker(store.settings, SLOTS))
        for _ in range(orchestrators):
            running.enter_context(_orchestrator(store.settings))
        return asyncio.run(_calls(store, SESSIONS_A_WORKER * workers))


@contextmanager
def _orchestrator(settings: Settings) -> Generator[None]:
    environment = os.environ | {"ERRANDS_REDIS_URL": settings.redis_url or "", "ERRANDS_HOME": str(settings.home)}
    command = [sys.executable, "-c", "from errands_orchestrator.cli import main; main()", "orchestrator"]
    with (settings.home / "orchestrator.log").open("ab") as log:
        process = subprocess.Popen(command, env=environment, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        yield
    finally:
        process.terminate()
        process.wait(30)


async def _calls(store: Store, count: int) -> tuple[float, float]:
    written = {
        "slug": "sleepers", "flavor": "Scripted", "modelUrl": "script.json", "executionMode": "asynchronous",
        "maxConcurrency": CALLS, "tools": ["bench_sleep"],
        "toolCallPolicyConfig": {"default": {"tag": "runAsync"}},
    }  # fmt: skip
    call = {"name": "bench_sleep", "arguments": {"seconds": SLEEP_SECONDS}}
    agent = parse_agent(json.dumps(written), origin="bench")
    script = json.dumps([{"calls": [call] * CALLS}, {"say": "done"}])
    async with connected(store.settings) as redis:
        offered = Toolset(tools_of(agent, await live_offers(redis)).offers)
        made = definitions(StoredAgent(file=agent.canonical, script=script), offered)
        before = machine_now()
        sids = [await sessions.start(redis, agent.slug, made, "go") for _ in range(count)]
        span = [await _span(redis, sid) for sid in sids]
        seconds = (max(end for _, end in span) - min(begin for begin, _ in span)) / 1000
        return count * CALLS / seconds, share_since(before)


async def _span(redis: reads.Store, sid: str) -> tuple[int, int]:
    """Store times of the first start and the last end of a session's calls, once its run has ended."""
    give_up = time.monotonic() + 120
    while await sessions.status_of(redis, sid) != "idle" or not await _ended(redis, sid):
        if time.monotonic() > give_up:
            raise RuntimeError(f"session {sid} does not end")
        await asyncio.sleep(0.02)
    cids = await sessions.call_ids(redis, sid)
    times = await reads.fields_of_each(redis, [keys.call(cid) for cid in cids], ("started_at", "ended_at"))
    return min(int(started or 0) for started, _ in times), max(int(ended or 0) for _, ended in times)


async def _ended(redis: reads.Store, sid: str) -> bool:
    return any(event["kind"] == "run.ended" for _, event in await reads.newest(redis, keys.events(sid), 3))
