"""`truncate`: the result of what is inside is cut to so many bytes. What is told of a failure has bounds of its own."""

from __future__ import annotations

from errands_config.text import cap
from errands_config.wire import CallState, Outcome
from errands_workers.around.given import Given, Layer
from errands_workers.kinds.kind import RunEnd


def truncated(max_bytes: int, inner: Layer, given: Given) -> RunEnd:
    """Run what is inside and cut its result."""
    end = inner(given)
    return cut(end, max_bytes) if isinstance(end, Outcome) and end.state == CallState.COMPLETED else end


def cut(outcome: Outcome, max_bytes: int) -> Outcome:
    """The outcome with at most so many bytes of its result, and a line that says so. JSON that is cut is text."""
    result = cap(outcome.result, max_bytes)
    if result == outcome.result:
        return outcome
    return outcome.model_copy(update={"result": result, "result_type": "text"})
