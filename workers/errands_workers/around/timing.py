"""`timeout`: everything inside it has so many seconds in all."""

from __future__ import annotations

import time
from dataclasses import replace

from errands_config.wire import CallState, Outcome
from errands_workers.around.given import Given, Layer
from errands_workers.around.pieces import Overdue, Within
from errands_workers.kinds.kind import RunEnd


def timed(seconds: float, inner: Layer, given: Given) -> RunEnd:
    """Run what is inside, and stop it after so many seconds; a time around it that ends sooner counts all the same."""
    deadline = time.monotonic() + seconds
    if deadline >= given.within.deadline:
        return inner(given)
    mine = Within(deadline, _timed_out(seconds))
    try:
        return inner(replace(given, within=mine))
    except Overdue as over:
        if over.within is not mine:
            raise
        return mine.overdue


def _timed_out(seconds: float) -> Outcome:
    told = f"{seconds:.3f}".rstrip("0").rstrip(".")
    return Outcome(
        state=CallState.TIMED_OUT, error=f"tool call timed out after {told}s", error_kind="timed out",
        timeout_seconds=seconds,
    )  # fmt: skip
