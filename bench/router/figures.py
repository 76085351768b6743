"""What the router comes to, as figures beside their goals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from bench.figure import Figure
from bench.router.played import Played, p95

GOAL_ALONE = 1.02


def figures(merged: Sequence[Played], real: Played) -> Iterator[Figure]:
    """The latencies of each load as multiples of a single call, and what Errands itself takes."""
    for one in merged:
        name = f"router, {one.load.per_minute:g} triggers/min: p95 to the decision, against a single call"
        note = f"{one.batch:.2f} triggers a call; {own(one)}"
        yield Figure(name, one.p95_in_calls, one.load.p95_goal, note=note)
    scaled = f"{merged[0].alone_in_calls:.3f}x where the model is {merged[0].load.scale} times as fast"
    note = f"{real.alone_in_calls:.3f}x of {real.load.call_of(1):.2f} s at real speed, {scaled}; {own(real)}"
    yield Figure("router, one trigger alone, against a single call", real.alone_in_calls, GOAL_ALONE, note=note)


def own(one: Played) -> str:
    """What Errands takes for a call of the model, by the clock and of the processor."""
    return f"own {median(one.own_ms):.2g} ms a call, p95 {p95(one.own_ms):.2g}; CPU {cpu(one)}"


def cpu(one: Played) -> str:
    """Of orchestrator and store, for a call of the model."""
    parts = (one.cpu.client, one.cpu.store)
    return " + ".join(f"{part * 1000 / len(one.calls):.2g}" for part in parts) + " ms"
