"""Figure 2: a turn with 100 calls, sent off with their records; and how long the event loop stood still meanwhile.

Product: from the model's answer to the store's answer to the commit, which holds 100 records and 100 messages.
Baseline: 100 times `apply_async` in the same event loop. No worker listens to either queue.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable
from statistics import median
from time import perf_counter
from typing import Any

from bench.baseline_celery import celery_app
from bench.cpu import Cpu, cpu_now
from bench.figure import Figure, Round, compared
from bench.product import Turns, agent, calling, connected, made_of, product, start
from bench.stage import Store
from bench.ticker import Ticker
from bench.waiting import until
from errands_config.settings import Durability
from errands_config.store import broker_url
from errands_config.wire import ToolOffer

ROUNDS = 7
CALLS = 100
QUEUE = "nobody"
GOAL: dict[Durability, float | None] = {"fast": 0.4, "durable": None}
GOAL_STILL_MS: dict[Durability, float | None] = {"fast": 20, "durable": None}

_SCHEMA = '{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}'
OFFER = ToolOffer(
    name="bench_nothing", description="Give the text back.", parameters=_SCHEMA, digest="d", kind="function"
)


def dispatch(store: Store, durability: Durability) -> list[Figure]:
    """Both sides alternately, in one event loop."""
    store.be(durability)
    return asyncio.run(_figures(store, durability))


async def _figures(store: Store, durability: Durability) -> list[Figure]:
    turns = _ProductTurns(store)
    task = celery_app(broker_url(store.settings)).tasks["nothing"]
    ours: list[tuple[Round, float]] = []
    theirs: list[tuple[Round, float]] = []
    gc.collect()
    gc.freeze()
    async with product(store.settings, turns.model, turns.note_commit) as ownership:
        for _ in range(1 + ROUNDS):
            ours.append(await _ticking(turns.one(lambda: not ownership.in_hand)))
            theirs.append(await _ticking(_baseline_turn(task, store)))
    mine, other = ours[1:], theirs[1:]  # the first of each opens connections
    still, other_still = (median(late * 1000 for _, late in rounds) for rounds in (mine, other))
    return [
        compared("dispatch of 100 calls with records", [r for r, _ in mine], [r for r, _ in other], GOAL[durability],
                 durability),
        Figure("event loop still during a dispatch", still, GOAL_STILL_MS[durability], "ms", durability,
               note=f"baseline {other_still:.0f} ms"),
    ]  # fmt: skip


async def _ticking(turn: Awaitable[Round]) -> tuple[Round, float]:
    """A turn, and the seconds that its event loop stood still at most."""
    async with Ticker() as ticker:
        done = await turn
    return done, ticker.latest


class _ProductTurns:
    """Sessions of one turn each; their calls stay queued for ever."""

    def __init__(self, store: Store) -> None:
        call = calling("bench_nothing", CALLS, {"text": "x"})
        self.model = Turns([call] * (1 + ROUNDS), lambda _: self._note_answer())
        self._store = store
        self._before = Cpu(0, 0, 0)
        self._rounds: list[Round] = []

    def _note_answer(self) -> None:
        self._before = cpu_now(None, self._store.pid)

    def note_commit(self) -> None:
        """The first commit behind an answer is the one that dispatches its calls."""
        now = perf_counter()
        if len(self.model.answered) > len(self._rounds):
            cpu = cpu_now(None, self._store.pid) - self._before
            self._rounds.append(Round(((now - self.model.answered[-1]) / CALLS,) * CALLS, cpu))

    async def one(self, is_parked: Callable[[], bool]) -> Round:
        """One session from its start to its parking."""
        known = len(self._rounds)
        async with connected(self._store.settings) as store:
            await start(store, await made_of(store, agent(QUEUE, max_concurrency=CALLS), [OFFER]))
        await until(lambda: len(self._rounds) > known and is_parked(), every=0.005)
        return self._rounds[-1]


async def _baseline_turn(task: Any, store: Store) -> Round:
    before, began = cpu_now(None, store.pid), perf_counter()
    for _ in range(CALLS):
        task.apply_async(("x",))
    return Round(((perf_counter() - began) / CALLS,) * CALLS, cpu_now(None, store.pid) - before)
