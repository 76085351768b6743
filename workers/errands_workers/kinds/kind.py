"""What a kind of tool is to the rest of the worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from errands_config.wire import Outcome
from errands_workers.attempt import Attempt
from errands_workers.context import Reports

Run = Callable[[Attempt, Reports], Outcome]
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

    def prepare(self, arguments: str) -> Run:
        """Check the arguments, a JSON text; InvalidArguments if they are not what the tool takes."""
        ...
