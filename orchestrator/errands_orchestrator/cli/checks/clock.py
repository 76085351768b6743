"""The store's clock, which is the only one that records know. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from errands_orchestrator.cli.checks.finding import Finding, Level, span

APART_MS, FAR_APART_MS = 2_000, 60_000
"""From where a difference is worth saying, and from where it is wrong."""
STEP_MS = 500
_SERVICE = "let a time service (chrony, systemd-timesyncd) keep both machines' clocks"


@dataclass(frozen=True, slots=True)
class ClockFacts:
    """Milliseconds all."""

    ahead: float
    """The store's time minus this machine's."""
    stepped: float
    """How much more time passed for the store than for this machine's monotonic clock while it was looked at."""
    newest: float
    """How far the newest record lies after the store's time; negative where it lies before, as it should."""


def clock_findings(facts: ClockFacts) -> Iterator[Finding]:
    """How the store's clock stands, and whether it was set."""
    direction = "ahead of" if facts.ahead > 0 else "behind"
    apart = f"the store's clock is {span(abs(facts.ahead))} {direction} this machine's"
    if abs(facts.ahead) <= APART_MS:
        yield Finding("clock", "ok", "store and this machine agree about the time")
    else:
        yield Finding("clock", _grave(abs(facts.ahead)), f"{apart}: times in lists look wrong", _SERVICE)
    if abs(facts.stepped) > STEP_MS:
        text = f"the store's clock was set by {facts.stepped / 1000:+.1f} s while it was looked at"
        yield Finding("clock", "wrong", text, "let its time service slew the clock and not step it")
    if facts.newest > STEP_MS:
        text = f"the store's clock was set back: its newest record lies {span(facts.newest)} ahead"
        advice = "nothing is lost, but timers may be up to 10 min late; let its time service slew and not step"
        yield Finding("clock", _grave(facts.newest), text, advice)


def _grave(ms: float) -> Level:
    return "wrong" if ms > FAR_APART_MS else "note"
