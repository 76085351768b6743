"""What a kind of tool is to the rest of the worker."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Protocol, TypeAlias

from errands_config.wire import Deferral, Outcome
from errands_workers.attempt import Attempt
from errands_workers.context import Reports

RunEnd: TypeAlias = Outcome | Deferral
"""How a run ended: for good, or in that it waits for somebody outside."""

Run: TypeAlias = Callable[[Attempt, Reports], RunEnd]
"""Run a prepared call to its end and say how it ended by itself; how it was stopped is in the attempt.

It calls `attempt.end()` the moment that the tool is over, and returns when nothing of it is left.
"""


class Runnable(Protocol):
    """One tool that this worker can run."""

    @property
    def description(self) -> str:
        """What the model is told about it."""
        ...

    @property
    def parameters(self) -> str:
        """JSON schema of its arguments, as compact JSON."""
        ...

    @property
    def reports_per_second(self) -> float:
        """How much progress of it is kept."""
        ...

    @property
    def retries(self) -> int:
        """How often it is tried again by its author's wish, where no policy says."""
        ...

    def unfit_for_secrets(self, arguments: Collection[str]) -> str:
        """What keeps these of its arguments from taking secrets, and what to do; empty if nothing does."""
        ...

    def prepare(self, arguments: str) -> Run:
        """Check the arguments, a JSON text; InvalidArguments if they are not what the tool takes."""
        ...
