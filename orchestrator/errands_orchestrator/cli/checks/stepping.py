"""Whether anybody steps the sessions. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from errands_orchestrator.cli.checks.finding import Finding, span

LATE_MS = 3_000
"""An orchestrator looks at least once a second at what is due."""
_START = "`errands orchestrator` (or `errands up`) steps them; `errands session resume` steps one"


@dataclass(frozen=True, slots=True)
class SteppingFacts:
    """What waits for an orchestrator, and who there is. Ages are store time in ms."""

    orchestrators: int
    """Processes that step sessions: orchestrators, and `errands run` its own."""
    overdue: int = 0
    """Sessions that somebody should have looked at by now."""
    session_late_ms: float = 0
    unswept: int = 0
    """Calls whose moment for a sweeper has passed: a deadline, a queue timeout, or a lost worker."""
    call_late_ms: float = 0


def stepping_findings(facts: SteppingFacts) -> Iterator[Finding]:
    """Orchestrators, and what waits for one."""
    if facts.orchestrators:
        yield Finding("orchestrators", "ok", f"processes that step sessions: {facts.orchestrators}")
    else:
        yield Finding("orchestrators", "note", "no orchestrator is running", _START)
    if facts.overdue and facts.session_late_ms > LATE_MS:
        text = f"sessions waiting to be stepped: {facts.overdue}, the first of them for {span(facts.session_late_ms)}"
        yield Finding("orchestrators", "wrong", text, _advice(facts))
    if facts.unswept and facts.call_late_ms > LATE_MS:
        text = f"calls past their deadline or queue timeout: {facts.unswept}, by up to {span(facts.call_late_ms)}"
        yield Finding("orchestrators", "wrong", text, _advice(facts))


def _advice(facts: SteppingFacts) -> str:
    if not facts.orchestrators:
        return _START
    return "orchestrators are there and late: look at their logs and load, and start more of them"
