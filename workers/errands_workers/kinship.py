"""Which of the calls that one process runs a process below it belongs to. Pure: it is told what is seen.

A child that a call's own thread began is that call's, and so is one with the call's mark in its environment. A child
with neither was begun by another thread, or was adopted and has dropped the mark: it may belong to any call that ran
when it was first seen, and is that call's alone once the others are over. So no call ever ends what may be another's,
and nothing outlives all calls that it may belong to.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

_THE_WORKER = ""
"""Owns what was there before the first call, and is never over."""


@dataclass(frozen=True, slots=True)
class Child:
    """A process right below this one. `thread`: began it, or stands for the process that adopted it."""

    pid: int
    began: int
    thread: int
    mark: str = ""
    """The call that its environment names; empty if it names none."""


_Key: TypeAlias = tuple[int, int]


class Kinship:
    """The calls that run, and to which of them each child may belong."""

    def __init__(self, before: Iterable[Child] = ()) -> None:
        """`before`: children that belong to no call."""
        self._running: dict[str, int] = {}
        self._owners: dict[_Key, frozenset[str]] = {_key(child): frozenset({_THE_WORKER}) for child in before}

    def begin(self, call: str, thread: int) -> None:
        """A call runs in a thread from now on."""
        self._running[call] = thread

    def end(self, call: str) -> None:
        """It is over."""
        self._running.pop(call, None)

    def own(self, call: str, pid: int, began: int) -> None:
        """This child is the call's for certain."""
        self._owners[pid, began] = frozenset({call})

    def is_sure(self, pid: int, began: int) -> bool:
        """Whether it is known of a child whose it is, so that its mark need not be looked for."""
        return len(self._owners.get((pid, began), ())) == 1

    def see(self, children: Iterable[Child]) -> None:
        """Take note of all children that there are; those that are not among them are forgotten."""
        self._owners = {_key(child): self._owners_of(child) for child in children}

    def only_of(self, call: str) -> list[int]:
        """The children, of those seen last, that can belong to no other call that still runs."""
        others = {_THE_WORKER, *self._running} - {call}
        return [pid for (pid, _), owners in self._owners.items() if not owners & others]

    def _owners_of(self, child: Child) -> frozenset[str]:
        known = self._owners.get(_key(child))
        if known and self.is_sure(*_key(child)):
            return known
        if child.mark:
            return frozenset({child.mark})
        begun_by = [call for call, thread in self._running.items() if thread == child.thread]
        return known or frozenset(begun_by or self._running)


def _key(child: Child) -> _Key:
    return child.pid, child.began
