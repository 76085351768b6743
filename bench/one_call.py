"""Figure 1: one trivial call, from the model's decision to its result in the session.

Product: from the model's answer with the call to the next question with the result. Between them are the commit that
records and publishes, the parking, the worker's claim and finish, the waking, and the commit with the tool message.
Baseline: `apply_async` and `get` of an equally trivial task.
"""

from __future__ import annotations

import asyncio
import gc

from bench.cpu import Cpu, cpu_now
from bench.figure import Figure, Round, compared
from bench.product import Turns, agent, calling, connected, made_of, product, start
from bench.stage import Stage, Transport
from errands_config.settings import Durability

ROUNDS = 5
CALLS = 40
WARM_UP = 5
GOAL = 0.8
"""Of the mode `fast` over loopback, where the store is another machine's for most; the other rows are not judged."""
_WAYS: dict[Transport, str] = {"tcp": "loopback TCP", "unix": "Unix socket"}


def one_call(stage: Stage, durability: Durability) -> Figure:
    """Both sides alternately on the same store."""
    stage.store.be(durability)
    stage.baseline.calls(WARM_UP, stage.store.pid)
    ours: list[Round] = []
    theirs: list[Round] = []
    gc.collect()
    gc.freeze()
    for _ in range(ROUNDS):
        ours.append(asyncio.run(_product_calls(stage)))
        theirs.append(stage.baseline.calls(CALLS, stage.store.pid))
    goal = GOAL if (durability, stage.transport) == ("fast", "tcp") else None
    return compared(f"one call, decision to result applied, {_WAYS[stage.transport]}", ours, theirs, goal, durability)


async def _product_calls(stage: Stage) -> Round:
    used: dict[int, Cpu] = {}

    def note_cpu(question: int) -> None:
        if question in (WARM_UP, WARM_UP + CALLS):
            used[question] = cpu_now(stage.worker, stage.store.pid)

    model = Turns([calling("bench_nothing", arguments={"text": "x"})] * (WARM_UP + CALLS), note_cpu)
    settings = stage.store.settings
    async with connected(settings) as store, product(settings, model):
        await start(store, await made_of(store, agent()))
        await asyncio.wait_for(model.done.wait(), 60)
    return Round(model.between[WARM_UP:], used[WARM_UP + CALLS] - used[WARM_UP])
