"""How a process runs calls, one at a time or several at once: all that differs between the pools."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from errands_config.wire import Outcome
from errands_workers.attempt import Attempt
from errands_workers.nudges import Nudges
from errands_workers.offspring import Offspring

Record = Callable[[Attempt, Outcome], bool]
"""Enter the end of a call, without waiting for a store that is away; whether it was answered."""


class Manner(Protocol):
    """What a pool decides for the processes in it."""

    @property
    def nudges(self) -> Nudges:
        """Where the watching thread waits."""
        ...

    def busy(self) -> AbstractContextManager[None]:
        """One of the slots is taken inside the block, by whatever."""
        ...

    def offspring_of(self, call: str) -> Offspring:
        """The processes of a call."""
        ...

    def ready_for_tool(self) -> None:
        """Before each call, in the thread that will run it."""
        ...

    def running(self, call: str) -> AbstractContextManager[None]:
        """A call runs inside the block, in this thread, until nothing of it is left."""
        ...

    def give_up(self, attempt: Attempt, record: Record) -> bool:
        """The tool was asked to end, and its patience is over: bring the call to an end without the tool's doing.

        For the watching thread. False: try again soon.
        """
        ...
