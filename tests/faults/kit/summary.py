"""What a run says of itself: its faults one by one, a table of windows, and one line at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tests.faults.kit.evidence import Evidence
from tests.faults.kit.kinds import Kind, Window
from tests.faults.kit.strike import Strike, hits, kinds


@dataclass(frozen=True, slots=True)
class Report:
    """A run that is over."""

    seed: int
    minutes: float
    strikes: tuple[Strike, ...]
    evidence: Evidence
    findings: tuple[str, ...]
    ends_by_itself: tuple[str, ...]
    """Processes that ended though nobody killed them, with their exit codes; they were started again."""
    settled_in: float
    """Seconds from the last fault to the end of the last session."""

    @property
    def held(self) -> bool:
        """Whether everything held that must."""
        return not self.findings


def table(strikes: Sequence[Strike]) -> str:
    """How often each kind happened, and in which windows it fell."""
    counts, fell = kinds(strikes), Counter((s.kind, window) for s in strikes for window, _ in s.windows)
    rows = [f"{'':<26}{'times':>6}" + "".join(f"{_head(window):>11}" for window in Window)]
    for kind in Kind:
        cells = "".join(f"{fell[kind, window] or '.':>11}" for window in Window)
        rows.append(f"{kind:<26}{counts[kind]:>6}{cells}")
    total = hits(strikes)
    rows.append(f"{'all':<26}{len(strikes):>6}" + "".join(f"{total[window]:>11}" for window in Window))
    return "\n".join(rows)


def _head(window: Window) -> str:
    return str(window).partition(",")[0]


def report_text(report: Report) -> str:
    """The whole report; its last line is the summary."""
    parts = [table(report.strikes)]
    if report.ends_by_itself:
        parts.append("ended by itself: " + ", ".join(report.ends_by_itself))
    parts += [f"FINDING {finding}" for finding in report.findings]
    return "\n".join([*parts, last_line(report)])


def last_line(report: Report) -> str:
    """The summary."""
    strikes, calls, counts = report.strikes, report.evidence.calls, kinds(report.strikes)
    missed = [window.value for window in Window if not hits(strikes)[window]]
    states = ", ".join(f"{count} {state}" for state, count in Counter(call.state for call in calls).most_common())
    again, late = sum(call.attempt > 1 for call in calls), sum(call.late for call in calls)
    deferred, refused = (
        sum(call.deferrals for call in calls),
        sum(not it.is_taken for call in calls for it in call.answers),
    )
    verdict = "held" if report.held else f"{len(report.findings)} FINDINGS, again: make faults SEED={report.seed}"
    return "; ".join(
        (
            f"seed {report.seed}, {report.minutes:g} min",
            f"{len(strikes)} faults, each of {len(Kind)} kinds at least {min(counts[kind] for kind in Kind)} times",
            f"windows missed: {', '.join(missed) or 'none'}",
            f"{len(report.evidence.sessions)} sessions, {len(calls)} calls ({states})",
            f"{again} run again, {late} late finishes refused",
            f"{deferred} deferred, {refused} answers to them refused",
            f"settled in {report.settled_in:.0f} s: {verdict}",
        )
    )
