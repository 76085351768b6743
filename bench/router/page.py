"""The router's table and picture in docs/performance.md."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from bench import page
from bench.router.figures import cpu
from bench.router.ideal import ideal
from bench.router.load import ESSAY, REAL
from bench.router.picture import picture
from bench.router.played import Played, p95
from bench.table import aligned

_HEAD = (
    "triggers a minute", "triggers a call", "model calls a trigger", "time a decision", "arrival to decision, p95",
    "in single calls", "goal", "own time a call, p95", "CPU a call",
)  # fmt: skip
_ESSAYS = (
    ("1, in the essay", "1.0", "", "6.4 s", "", "", "", "", ""),
    ("40, in the essay", "2.8", "", "1.6 s", "", "", "", "", ""),
)
PICTURE = page.PAGE.with_name("router.svg")


def renew(merged: Sequence[Played], essay: Played, real: Played) -> None:
    """Write both anew."""
    page.renew("router", aligned([_HEAD, *_ESSAYS, *map(_row, (essay, *merged, real))]))
    PICTURE.write_text(picture(merged, essay))


def _row(one: Played) -> tuple[str, ...]:
    least = ideal(one.load, one.arrived)
    goal = "" if one.load.p95_goal is None else f"<= {one.load.p95_goal}"
    return (
        _name(one),
        f"{one.batch:.2f} ({least.batch:.2f})",
        f"{one.calls_per_trigger:.2f}",
        f"{one.seconds_per_decision:.2f} s ({least.seconds_per_decision:.2f})",
        f"{one.p95:.2f} s ({least.p95:.2f})",
        f"{one.p95_in_calls:.2f}x",
        goal,
        f"{median(one.own_ms):.1f} ms, {p95(one.own_ms):.1f}",
        cpu(one),
    )


def _name(one: Played) -> str:
    names = {ESSAY: ", the essay's model", REAL: ", at real speed"}
    return f"{one.load.per_minute:g}{names.get(one.load, '')}"
