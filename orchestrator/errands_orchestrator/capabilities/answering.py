"""The capabilities that act, by name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from errands_orchestrator.arrivals import Answered, Begun
from errands_orchestrator.capabilities import cancel, result, running, status, wait
from errands_orchestrator.capabilities.desk import Desk
from errands_orchestrator.capabilities.offers import CANCEL, GET_RESULT, GET_STATUS, LIST_RUNNING, WAIT


@dataclass(frozen=True, slots=True)
class Capability:
    """How a capability is begun (its action, what it waits for) and answered."""

    begin: Callable[[Desk], Awaitable[Begun]]
    answer: Callable[[Desk], Awaitable[Answered]]


CAPABILITIES: Mapping[str, Capability] = {
    GET_STATUS: Capability(status.begin, status.answer),
    LIST_RUNNING: Capability(running.begin, running.answer),
    CANCEL: Capability(cancel.begin, cancel.answer),
    WAIT: Capability(wait.begin, wait.answer),
    GET_RESULT: Capability(result.begin, result.answer),
}
