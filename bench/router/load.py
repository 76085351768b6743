"""What arrives, and how long the model takes for it."""

from __future__ import annotations

import random
from dataclasses import dataclass

_SEED = 1


@dataclass(frozen=True, slots=True)
class Load:
    """Triggers that arrive at random, for one conversation or for several beside one another. Simulated seconds."""

    per_minute: float
    """Triggers of one conversation, on average."""
    triggers: int
    """Of all conversations together."""
    conversations: int = 1
    call_seconds: float = 1.2
    """A model call takes this, and that much more for each trigger that it reads:"""
    trigger_seconds: float = 0.05
    scale: int = 20
    """Simulated seconds in a real one."""
    p95_goal: float | None = None
    """In single calls."""

    def call_of(self, triggers: int) -> float:
        """Seconds that the model takes for so many triggers."""
        return self.call_seconds + self.trigger_seconds * triggers


@dataclass(frozen=True, slots=True)
class Trigger:
    """Something happens in a conversation, so many simulated seconds after the begin."""

    at: float
    conversation: int


LOADS = (
    # One conversation would take ten minutes for 200 triggers; 100 of them, each at its own pace, take six seconds.
    # Nothing of one merges with another's, and together they are the work of one at 100 a minute.
    Load(1, 200, conversations=100),
    Load(40, 200),
    Load(100, 300, p95_goal=2.5),
    # fewer would be over before the queue is as long as it gets: the p95 of 600 is a twentieth off that of 20,000
    Load(400, 800, p95_goal=3.5),
)
ESSAY = Load(40, 120, call_seconds=3.8, trigger_seconds=0.15)
"""The model of the essay, as its figures suggest."""
REAL = Load(1, 100, conversations=1000, scale=1)
"""At the speed of life, where what Errands takes has its true weight."""


def triggers(load: Load) -> list[Trigger]:
    """A Poisson process for each conversation; the same ones in every run."""
    chance = random.Random(_SEED)
    made: list[Trigger] = []
    at = 0.0
    for _ in range(load.triggers):
        at += chance.expovariate(load.per_minute * load.conversations / 60)
        made.append(Trigger(at, chance.randrange(load.conversations)))
    return made
