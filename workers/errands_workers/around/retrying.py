"""`retries`: what is inside is run again when it failed or timed out."""

from __future__ import annotations

from errands_config.wire import CallState, Outcome, Retries
from errands_workers.around.given import Given, Layer
from errands_workers.around.pieces import Pieces
from errands_workers.attempt import failed
from errands_workers.kinds.kind import RunEnd
from errands_workers.reports import CallReports

LONGEST_BACKOFF_SECONDS = 60.0
"""What a pause is doubled up to; a first pause that is longer stays as it is."""

_CAUSES = {CallState.FAILED: "error", CallState.TIMED_OUT: "timeout"}


def retried(terms: Retries, pieces: Pieces, reports: CallReports, inner: Layer, given: Given) -> RunEnd:
    """Run what is inside up to `count` + 1 times, each further time announced by a progress entry.

    Before each there is a pause: `backoff_seconds`, and twice the one before from then on. Arguments that the tool
    refuses, denials and deferrals are not tried again.
    """
    end = inner(given)
    for left in range(terms.count, 0, -1):
        if not _is_reason(end, terms):
            return end
        reports.event({"event": "retrying", "attemptsLeft": left})
        pieces.pause(backoff(terms.backoff_seconds, terms.count - left), given.within)
        end = inner(given)
    return exhausted(end) if isinstance(end, Outcome) and _is_reason(end, terms) else end


def backoff(first_seconds: float, pauses_before: int) -> float:
    """How long the next pause is."""
    longest = max(first_seconds, LONGEST_BACKOFF_SECONDS)
    return min(longest, first_seconds * 2 ** min(pauses_before, 64))


def exhausted(last: Outcome) -> Outcome:
    """What is recorded when the last try went wrong as well."""
    return failed(f"tool call failed: {last.error}", last.error_kind)


def _is_reason(end: RunEnd, terms: Retries) -> bool:
    if not isinstance(end, Outcome) or end.error_kind == "invalid arguments":
        return False
    return _CAUSES.get(end.state) in terms.on
