"""What came of a load: which call of the model read which triggers, and what follows from that. Simulated seconds."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from bench.cpu import Cpu
from bench.router.load import Load, Trigger


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the model, and the numbers of the triggers that it read."""

    asked: float
    answered: float
    triggers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Gap:
    """From the moment from which a call could be made until it was: the answer before it, or an arrival."""

    seconds: float
    alone: bool
    """The conversation rested until the one trigger that this call reads."""


@dataclass(frozen=True, slots=True)
class Played:
    """A load after it was played. A decision is what the model says to one trigger."""

    load: Load
    arrived: Sequence[Trigger]
    calls: Sequence[Call]
    cpu: Cpu
    """Real seconds of orchestrator and store, without those of whoever sent the triggers."""

    @property
    def batch(self) -> float:
        """Triggers that a call reads, on average."""
        return len(self.arrived) / len(self.calls)

    @property
    def calls_per_trigger(self) -> float:
        return len(self.calls) / len(self.arrived)

    @property
    def seconds_per_decision(self) -> float:
        """What the conversation was busy for each trigger: the calls and the gaps."""
        calls = sum(call.answered - call.asked for call in self.calls)
        return (calls + sum(gap.seconds for gap in self.gaps)) / len(self.arrived)

    @property
    def p95(self) -> float:
        """Seconds from a trigger's arrival to the answer of the call that read it."""
        return p95(call.answered - self.arrived[number].at for call in self.calls for number in call.triggers)

    @property
    def p95_in_calls(self) -> float:
        """The same as a multiple of a call that reads a single trigger."""
        return self.p95 / self.load.call_of(1)

    @property
    def own_ms(self) -> list[float]:
        """What Errands took from the moment from which each call could be made: real milliseconds."""
        return [gap.seconds / self.load.scale * 1000 for gap in self.gaps]

    @property
    def alone_in_calls(self) -> float:
        """Arrival to answer of a trigger that came alone to a conversation at rest, usually; in single calls."""
        return 1 + median(gap.seconds for gap in self.gaps if gap.alone) / self.load.call_of(1)

    @property
    def gaps(self) -> list[Gap]:
        """Of every call. What arrives in a gap may join the call, and makes the gap no shorter."""
        answered: defaultdict[int, float] = defaultdict(float)
        found: list[Gap] = []
        for call in sorted(self.calls, key=lambda call: call.asked):
            read = [self.arrived[number] for number in call.triggers]
            first, before = min(trigger.at for trigger in read), answered[read[0].conversation]
            found.append(Gap(call.asked - max(first, before), alone=len(read) == 1 and first > before))
            answered[read[0].conversation] = call.answered
        return found


def p95(values: Iterable[float]) -> float:
    """Nineteen in twenty are not above it."""
    ordered = sorted(values)
    return ordered[math.ceil(0.95 * len(ordered)) - 1]
