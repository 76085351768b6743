"""Memory over thousands of calls: processes and store keep nothing of what is over."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import redis.asyncio
from tests.acceptance.desk import a_store, a_worker
from tests.integration.ownership_of_keys import unowned
from tests.waiting import aeventually

from errands_config import keys
from errands_config.agent import parse_agent
from errands_config.settings import Settings
from errands_config.store import aio
from errands_orchestrator import sessions
from errands_orchestrator.brief import Toolset
from errands_orchestrator.catalogue import live_offers, tools_of
from errands_orchestrator.definitions import StoredAgent, definitions
from errands_orchestrator.retention import Retention
from errands_workers.processes import children

CALLS = 40
"""Of one session."""
SESSIONS = 20
"""Of one round, all at a time."""
ROUNDS = 6
FULL = 2
"""The round behind which caches are full: 800 calls of 40 kB are half of what an orchestrator keeps of transcripts."""
MOST_GROWTH = 16_000_000
"""Bytes by which a process may grow from there to the last round. One that kept what 2,400 calls asked and answered
would grow by 96 MB."""
PAYLOAD = "x" * 20_000


@contextmanager
def an_orchestrator(settings: Settings, log: Path) -> Generator[int]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ERRANDS_")}
    environment |= {"ERRANDS_REDIS_URL": settings.redis_url or "", "ERRANDS_HOME": str(settings.home)}
    with log.open("ab") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "errands_orchestrator", "orchestrator"],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
        )
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait(20)


def own_bytes(pid: int) -> int:
    """Memory of a process that is its own."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:"))


async def a_round(store: redis.asyncio.Redis) -> None:
    """Some sessions from their start to their end, each with one turn of calls whose results are as large as asked."""
    written = {
        "slug": "soak", "flavor": "Scripted", "modelUrl": "script.json", "executionMode": "asynchronous",
        "maxConcurrency": CALLS, "tools": ["echo_text"], "toolCallPolicyConfig": {"default": {"tag": "runAsync"}},
    }  # fmt: skip
    agent = parse_agent(json.dumps(written), origin="soak")
    call = {"name": "echo_text", "arguments": {"text": PAYLOAD}}
    script = json.dumps([{"calls": [call] * CALLS}, {"say": "done"}])
    offered = Toolset(tools_of(agent, await live_offers(store)).offers)
    made = definitions(StoredAgent(file=agent.canonical, script=script), offered)
    sids = [await sessions.start(store, "soak", made, "go") for _ in range(SESSIONS)]

    async def all_idle() -> bool:
        return all([await sessions.status_of(store, sid) == "idle" for sid in sids])

    await aeventually(all_idle, within=60, saying="every session of the round has ended")


async def test_a_thousand_calls_more_leave_processes_and_store_as_large_as_before(tmp_path: Path) -> None:
    with (
        a_store(tmp_path / "home") as settings,
        a_worker(settings, tmp_path / "worker.log", "--slots", "2", "--module", "tests.tools.cooperative") as worker,
        an_orchestrator(settings, tmp_path / "orchestrator.log") as orchestrator,
    ):
        pool = worker.pool()
        held: list[dict[int, int]] = []
        async with aio(settings) as store:
            for _ in range(ROUNDS):
                await a_round(store)
                held.append({pid: own_bytes(pid) for pid in (orchestrator, worker.launcher.pid, worker.celery, *pool)})
            assert sorted(children(worker.celery)) == sorted(pool), "a pool process was replaced"
            growth = {pid: last - held[FULL][pid] for pid, last in held[-1].items()}
            assert all(grown <= MOST_GROWTH for grown in growth.values()), growth

            assert await unowned(store) == []
            await _age(store)
            await Retention(store, settings).look()
            left = [key async for key in store.scan_iter("errands:[sc]:*")]
            assert left == []


async def _age(store: redis.asyncio.Redis) -> None:
    """As if nobody had touched any session for a long time."""
    for row in await sessions.rows(store, limit=1_000):
        await store.hset(keys.session(row.id), "updated", "1")
