"""`python -m bench.pools`: which pool stops what, how fast, and what a worker of it takes. Linux; about ten minutes.

Each kind of tool is stopped so many times on a real `errands worker` of each pool, by the cancel of a user, which
reaches the worker as a revoke. What ignores its stop in a threads worker is stopped many times at once, since each
takes as long as a tool is given. Memory is the proportional set size of launcher, Celery process and children at rest,
after every slot has run a call.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Literal, TypeAlias

from bench.cpu import busy_share, tree
from bench.pool_calls import PoolCalls, Stopped, pool_calls
from bench.stage import ROOT, own_store
from errands_config.settings import Settings

Pool: TypeAlias = Literal["prefork", "threads"]
ROUNDS = 20
MEMORY: tuple[tuple[Pool, int], ...] = (
    ("prefork", 2), ("prefork", 4), ("prefork", 8), ("threads", 4), ("threads", 16), ("threads", 64),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Case:
    """One kind of tool. `at_once`: in a threads worker all stops are asked for at the same time."""

    what: str
    tool: str
    at_once: bool = False
    rounds: int = ROUNDS
    """Of the threads pool; the prefork pool has ROUNDS."""
    settle_seconds: float = 0.0
    """From its own word that it runs to the stop."""


CASES = (
    Case("script and its child, which heed TERM", "bash_obedient"),
    Case("script with a detached tree, deaf to TERM", "bash_deaf"),
    Case("function that waits with `ctx.sleep`", "cooperative"),
    Case("async function in `asyncio.sleep`", "waits"),
    Case("function in `time.sleep`", "sleeps", at_once=True),
    Case("function in a loop with `except Exception`", "goes_on", at_once=True),
    Case("function in a C loop", "computes", at_once=True),
    Case("function in a C loop that holds the interpreter's lock", "holds", rounds=5, settle_seconds=1),
)


def main() -> None:
    """Measure, and print two tables in Markdown."""
    parser = argparse.ArgumentParser(prog="python -m bench.pools", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="stops of each kind (default: %(default)s)")
    rounds = parser.parse_args().rounds
    busy = busy_share()
    print("| tool | prefork | threads |", "| --- | --- | --- |", sep="\n")
    for case in CASES:
        _progress(case.what)
        cells = (_stops("prefork", case, rounds), _stops("threads", case, min(rounds, case.rounds)))
        print(f"| {case.what} | {' | '.join(map(_told, cells))} |", flush=True)
    print("", "| worker | processes | memory |", "| --- | --- | --- |", sep="\n")
    for pool, slots in MEMORY:
        _progress(f"memory of {pool} {slots}")
        processes, size = _memory(pool, slots)
        print(f"| {pool}, {slots} slots | {processes} | {size / 1e6:.0f} MB |", flush=True)
    print(f"\nOthers used {busy:.0%} of the machine before the run and {busy_share():.0%} behind it.")


def _progress(what: str) -> None:
    print(f"measuring: {what} ...", file=sys.stderr, flush=True)


def _told(stops: Sequence[Stopped]) -> str:
    """Median and slowest, and what else there is to say about the stops of one kind."""
    seconds = [one.seconds for one in stops]
    said = [f"{_time(median(seconds))} (slowest {_time(max(seconds))}, of {len(stops)})"]
    if not all(one.confirmed for one in stops):
        said.append("not confirmed, it goes on")
    if not any(one.process_lives for one in stops):
        said.append("with its process")
    return ", ".join(said)


def _time(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _stops(pool: Pool, case: Case, rounds: int) -> list[Stopped]:
    at_once = case.at_once and pool == "threads"
    with own_store() as store, _worker(store.settings, pool, rounds + 1 if at_once else 2):
        return asyncio.run(_stopped(store.settings, case, rounds, at_once=at_once))


async def _stopped(settings: Settings, case: Case, rounds: int, *, at_once: bool) -> list[Stopped]:
    async with pool_calls(settings) as calls:
        if at_once:
            begun = [await calls.begun(case.tool) for _ in range(rounds)]
            return await asyncio.gather(*map(calls.stopped, begun))
        return [await _one(calls, case) for _ in range(1 + rounds)][1:]  # the first opens connections


async def _one(calls: PoolCalls, case: Case) -> Stopped:
    cid = await calls.begun(case.tool)
    await asyncio.sleep(case.settle_seconds)
    return await calls.stopped(cid)


def _memory(pool: Pool, slots: int) -> tuple[int, int]:
    """Processes and bytes of a worker at rest, each of whose slots has run a call."""
    with own_store() as store, _worker(store.settings, pool, slots) as launcher:
        asyncio.run(_run_everywhere(store.settings, slots))
        pids = tree(launcher)
        return len(pids), sum(map(_pss, pids))


async def _run_everywhere(settings: Settings, slots: int) -> None:
    async with pool_calls(settings) as calls:
        for cid in [await calls.called("moment") for _ in range(2 * slots)]:
            await calls.ended(cid)
    await asyncio.sleep(1)


def _pss(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


@contextmanager
def _worker(settings: Settings, pool: Pool, slots: int) -> Generator[int]:
    """`errands worker` with the tools of this benchmark; its process id. Calls that still run are not waited for."""
    command = [sys.executable, "-m", "errands_workers", "--module", "bench.pool_tools"]
    command += ["--tools", str(ROOT / "bench/pool_scripts"), "--slots", str(slots), "--pool", pool]
    ours = {"ERRANDS_REDIS_URL": settings.redis_url or "", "ERRANDS_HOME": str(settings.home), "BENCH_POOL": pool}
    with (settings.home / "worker.log").open("wb") as log:
        process = subprocess.Popen(
            command, env=os.environ | ours, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    try:
        yield process.pid
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Tell it twice: that ends its calls at once."""
    process.terminate()
    time.sleep(0.5)
    if process.poll() is None:
        process.terminate()
    process.wait(30)


if __name__ == "__main__":
    main()
