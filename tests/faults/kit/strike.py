"""One fault: to whom, aimed at what, and what it really met."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from tests.faults.kit.kinds import Kind, Window


@dataclass(frozen=True, slots=True)
class Strike:
    """A fault that happened. `windows`: how many calls and sessions it met in each, as the records say."""

    kind: Kind
    victim: str
    at: float
    """Seconds since the beginning of the faults."""
    aim: Window | None
    windows: tuple[tuple[Window, int], ...]

    def __str__(self) -> str:
        met = ", ".join(f"{window.value} x{count}" for window, count in self.windows) or "nothing in flight"
        aimed = f" aimed at <{self.aim}>" if self.aim else ""
        return f"{self.at:6.1f} s  {self.kind:<24} {self.victim:<12}{aimed}  met: {met}"


def counted(windows: Iterable[Window]) -> tuple[tuple[Window, int], ...]:
    """Windows with how often they came, in the order of a call's life."""
    found = Counter(windows)
    return tuple((window, found[window]) for window in Window if found[window])


def hits(strikes: Iterable[Strike]) -> Counter[Window]:
    """How many faults fell in each window."""
    return Counter(window for strike in strikes for window, _ in strike.windows)


def kinds(strikes: Iterable[Strike]) -> Counter[Kind]:
    """How often each kind of fault happened."""
    return Counter(strike.kind for strike in strikes)
