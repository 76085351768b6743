"""What a call costs while 10,000 others are in flight, against the same with 10: dispatch, and completion.

Both stores are filled with waiting calls and used alternately. The worker is a coroutine of this process that claims
and finishes at once, so that nothing but the protocol is measured.
"""

from __future__ import annotations

import asyncio
import base64
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, cast

import orjson

from bench.cpu import cpu_now
from bench.dispatch import OFFER
from bench.figure import Figure, Round, compared
from bench.product import Turns, agent, calling, connected, made_of, product, start
from bench.stage import Store, own_store
from bench.waiting import until
from errands_config.scripts.attempts import Holder, claim, finish
from errands_config.scripts.script import arun
from errands_config.scripts.workers import beat
from errands_config.store import aio_blocking
from errands_config.wire import CallState, Claimed, Outcome, TaskMessage
from errands_orchestrator import reads
from errands_orchestrator.ending import end_all

FEW, MANY = 10, 10_000
A_TURN = 100
ROUNDS, CALLS, WARM_UP = 5, 40, 5
GOAL = 1.25
_HOLDER = Holder("bench", 1)
_DONE = Outcome(state=CallState.COMPLETED, result="x")


def in_flight() -> Figure:
    """The same calls in two stores, by turns."""
    with own_store() as few, own_store() as many:
        return asyncio.run(_measured(few, many))


async def _measured(few: Store, many: Store) -> Figure:
    await _fill(few, FEW)
    await _fill(many, MANY)
    crowded: list[Round] = []
    quiet: list[Round] = []
    for _ in range(ROUNDS):
        crowded.append(await _round(many))
        quiet.append(await _round(few))
    return compared(f"a call with {MANY:,} in flight, against {FEW}", crowded, quiet, GOAL, "fast")


async def _fill(store: Store, count: int) -> None:
    """Calls that are queued where nobody listens."""
    turns = Turns([calling("bench_nothing", min(count, A_TURN), {"text": "x"})] * max(1, count // A_TURN))
    async with connected(store.settings) as redis, product(store.settings, turns) as ownership:
        made = await made_of(redis, agent("nobody", max_concurrency=A_TURN), [OFFER])
        for _ in range(max(1, count // A_TURN)):
            await start(redis, made)
            await until(lambda: not ownership.in_hand)


async def _round(store: Store) -> Round:
    turns = Turns([calling("bench_nothing", arguments={"text": "x"})] * (WARM_UP + CALLS))
    async with connected(store.settings) as redis, _worker(store, redis), product(store.settings, turns):
        before = cpu_now(None, store.pid)
        await start(redis, await made_of(redis, agent("bench"), [OFFER]))
        await asyncio.wait_for(turns.done.wait(), 60)
        return Round(turns.between[WARM_UP:], cpu_now(None, store.pid) - before)


@asynccontextmanager
async def _worker(store: Store, redis: reads.Store) -> AsyncGenerator[None]:
    """Claims what comes and finishes it at once."""
    await arun(redis, beat(_HOLDER.worker, {"host": "bench"}))
    serving = asyncio.create_task(_serve(store, redis))
    try:
        yield
    finally:
        await end_all([serving])


async def _serve(store: Store, redis: reads.Store) -> None:
    async with aio_blocking(store.settings, 1) as ear:
        while True:
            got: Any = await cast("Any", ear.brpop(["bench"], timeout=1))
            if not got:
                continue
            message = TaskMessage(**orjson.loads(base64.b64decode(orjson.loads(got[1])["body"]))[1])
            await arun(redis, beat(_HOLDER.worker, {"host": "bench"}))
            claimed = await arun(redis, claim(message, secrets.token_hex(16), _HOLDER))
            if isinstance(claimed, Claimed):
                await arun(redis, finish(claimed, _HOLDER, message.queue, _DONE))
