"""The same arrivals before a router that merges and takes no time for it. Pure."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence

from bench.cpu import Cpu
from bench.router.load import Load, Trigger
from bench.router.played import Call, Played


def ideal(load: Load, arrived: Sequence[Trigger]) -> Played:
    """What the load comes to if all that waits goes into the next call, and a call follows the other at once."""
    waiting: defaultdict[int, deque[int]] = defaultdict(deque)
    for number, trigger in enumerate(arrived):
        waiting[trigger.conversation].append(number)
    calls = [call for numbers in waiting.values() for call in _calls(load, arrived, numbers)]
    return Played(load, arrived, calls, Cpu(0, 0, 0))


def _calls(load: Load, arrived: Sequence[Trigger], waiting: deque[int]) -> list[Call]:
    """Of one conversation."""
    calls: list[Call] = []
    free = 0.0
    while waiting:
        asked = max(free, arrived[waiting[0]].at)
        read: list[int] = []
        while waiting and arrived[waiting[0]].at <= asked:
            read.append(waiting.popleft())
        free = asked + load.call_of(len(read))
        calls.append(Call(asked, free, tuple(read)))
    return calls
