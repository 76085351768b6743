"""The processes that a call began: what is looked for, and ended, when the call ends."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Protocol

from errands_workers.processes import descendants, is_dead, kill_below


class Offspring(Protocol):
    """Everything that one call began, wherever it is now."""

    def began(self, pid: int) -> None:
        """Take note of a process that was begun for the call by this very process."""
        ...

    def lives(self) -> bool:
        """Whether anything of it lives."""
        ...

    def kill(self, unreaped: Collection[int] = ()) -> bool:
        """Kill all of it; False if something is left. `unreaped`: children for which somebody else waits."""
        ...


class EverythingBelow:
    """Of the one call that a process runs: whatever is below the process."""

    def began(self, pid: int) -> None:
        """Nothing else is below it, so there is nothing to tell apart."""

    def lives(self) -> bool:
        """Whether anything below this process lives."""
        return any(not is_dead(pid) for pid in descendants(os.getpid()))

    def kill(self, unreaped: Collection[int] = ()) -> bool:
        """Kill everything below this process."""
        return kill_below(os.getpid(), unreaped=unreaped)


EVERYTHING_BELOW = EverythingBelow()
