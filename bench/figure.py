"""What a measurement comes to: one figure beside its goal."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Literal, TypeAlias

from bench.cpu import Cpu
from errands_config.settings import Durability

Unit: TypeAlias = Literal["x", "us", "ms", "kB", "%", "each"]


@dataclass(frozen=True, slots=True)
class Round:
    """One round of one side: seconds of each call, and the CPU of all of them."""

    seconds: tuple[float, ...]
    cpu: Cpu

    @property
    def middle(self) -> float:
        """The usual call."""
        return median(self.seconds)

    def cpu_ms(self, part: Literal["client", "worker", "store", "whole"]) -> float:
        """CPU of one call, in ms."""
        used: float = getattr(self.cpu, part)
        return used * 1000 / len(self.seconds)


@dataclass(frozen=True, slots=True)
class Side:
    """All rounds of one side, in ms a call."""

    median_ms: float
    lowest_ms: float
    highest_ms: float
    """Lowest and highest median of a round."""
    tenth_ms: float
    """One call in ten was faster: what a call takes where nothing else wants the processor."""
    slowest_ms: float
    """The slowest call of all."""
    cpu_client_ms: float
    cpu_worker_ms: float
    cpu_store_ms: float

    @property
    def cpu_ms(self) -> float:
        """Of everybody together."""
        return self.cpu_client_ms + self.cpu_worker_ms + self.cpu_store_ms


def side(rounds: list[Round]) -> Side:
    """The medians of the rounds' medians."""
    middles = [one.middle * 1000 for one in rounds]
    every = sorted(seconds for one in rounds for seconds in one.seconds)
    return Side(
        median_ms=median(middles),
        lowest_ms=min(middles),
        highest_ms=max(middles),
        tenth_ms=every[len(every) // 10] * 1000,
        slowest_ms=every[-1] * 1000,
        cpu_client_ms=median(one.cpu_ms("client") for one in rounds),
        cpu_worker_ms=median(one.cpu_ms("worker") for one in rounds),
        cpu_store_ms=median(one.cpu_ms("store") for one in rounds),
    )


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured value and what it shall be at most. In unit `x` it is a ratio of two medians of the same run."""

    name: str
    ratio: float
    goal: float | None
    """None: reported, not judged."""
    unit: Unit = "x"
    durability: Durability = "fast"
    product: Side | None = None
    baseline: Side | None = None
    note: str = ""

    @property
    def holds(self) -> bool | None:
        """Whether the goal is met; None if there is none."""
        return None if self.goal is None else self.ratio <= self.goal


def compared(
    name: str, product: list[Round], baseline: list[Round], goal: float | None, durability: Durability
) -> Figure:
    """The product's usual call as a multiple of the baseline's."""
    ours, theirs = side(product), side(baseline)
    note = f"{ours.tenth_ms / theirs.tenth_ms:.2f}x where each side's fastest tenth is compared"
    return Figure(name, ours.median_ms / theirs.median_ms, goal, "x", durability, ours, theirs, note)
