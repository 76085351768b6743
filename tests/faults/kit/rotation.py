"""Which fault comes next, to whom, and at which moment. Pure, but for the seeded numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from random import Random

from tests.faults.kit.kinds import VICTIMS, Kind, Role, Window, aims


class Rotation:
    """All kinds, for ever: every round in an order of its own, each kind once a round.

    A kind that found nobody to harm is not lost: it is asked for again before all others.
    """

    def __init__(self, kinds: Sequence[Kind], seed: str) -> None:
        self._kinds = kinds
        self._numbers = Random(seed)
        self._to_come: list[Kind] = []

    def strike(self, strike: Callable[[Kind], bool], *, tries: int = 3) -> None:
        """Try one kind after the other until one strikes."""
        missed: list[Kind] = []
        for _ in range(tries):
            self._to_come = self._to_come or self._numbers.sample(self._kinds, len(self._kinds))
            kind = self._to_come.pop(0)
            if strike(kind):
                break
            missed.append(kind)
        self._to_come = missed + self._to_come


def victim_of(kind: Kind, done: Mapping[tuple[Kind, Role], int], standing: Collection[Role]) -> Role | None:
    """The role that faults of this kind have met least, of those that have a process to meet; None: there is none."""
    roles: list[Role] = [role for role in VICTIMS[kind] if role in standing]

    def met(role: Role) -> int:
        return done.get((kind, role), 0)

    return min(roles, key=met) if roles else None


def aim_of(kind: Kind, role: Role, tried: Counter[tuple[Kind, Window]], hit: Counter[Window]) -> Window:
    """The window that this kind was aimed at least; of several the one that all faults have hit least."""
    return min(aims(kind, role), key=lambda window: (tried[kind, window], hit[window]))
