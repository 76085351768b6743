"""The router's picture: three small charts over the rate of triggers. SVG, for light and dark pages. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from bench.router.ideal import ideal
from bench.router.played import Played

Kind: TypeAlias = Literal["ours", "least", "essay", "fitted", "goal"]
_WORDS: Mapping[Kind, str] = {
    "ours": "measured", "least": "same arrivals, no time lost", "essay": "the essay",
    "fitted": "measured, essay's model", "goal": "goal",
}  # fmt: skip
_LINED = ("ours", "least", "essay")
_WIDTH, _HEIGHT, _LEFT, _TOP, _STEP = 210, 200, 60, 74, 290
_RATES = (1, 40, 100, 400)
_STYLE = """\
    .paper { fill: #ffffff; } .ink { fill: #1f2328; } .dim { fill: #57606a; font-size: 12px; }
    .grid { stroke: #d8dee4; } path { fill: none; stroke-width: 2; }
    .ours { stroke: #3b6ea5; fill: #3b6ea5; } .least { stroke: #57606a; fill: #57606a; }
    .essay { stroke: #a8593f; fill: #a8593f; } .fitted { stroke: #3b6ea5; fill: #ffffff; }
    .goal { stroke: #4a8a52; fill: #4a8a52; }
    path.ours, path.essay, path.least { fill: none; } path.least { stroke-width: 1.5; stroke-dasharray: 5 4; }
    @media (prefers-color-scheme: dark) {
      .paper { fill: #161b22; } .ink { fill: #e6edf3; } .dim { fill: #a9b4c0; } .grid { stroke: #30363d; }
      .ours { stroke: #6ea3dc; fill: #6ea3dc; } .least { stroke: #a9b4c0; fill: #a9b4c0; }
      .essay { stroke: #dd8f73; fill: #dd8f73; } .fitted { stroke: #6ea3dc; fill: #161b22; }
      .goal { stroke: #74b77d; fill: #74b77d; }
    }"""


@dataclass(frozen=True, slots=True)
class Chart:
    """Values by the rate of triggers, of several kinds."""

    title: str
    ticks: Sequence[float]
    """Lowest to highest."""
    values: Mapping[Kind, Mapping[float, float]]
    is_log: bool = False

    def height(self, value: float) -> float:
        """Where a value lies, 0 at the foot and 1 at the top."""
        low, high, at = (math.log(it) if self.is_log else it for it in (self.ticks[0], self.ticks[-1], value))
        return min(1.0, (at - low) / (high - low))


def picture(merged: Sequence[Played], essay: Played) -> str:
    """Triggers a call, time a decision, and the latency in single calls."""
    least = [ideal(one.load, one.arrived) for one in merged]
    rate = essay.load.per_minute
    batch: dict[Kind, Mapping[float, float]] = {
        "least": {one.load.per_minute: one.batch for one in least},
        "ours": {one.load.per_minute: one.batch for one in merged},
        "essay": {1: 1.0, 40: 2.8}, "fitted": {rate: essay.batch},
    }  # fmt: skip
    decision: dict[Kind, Mapping[float, float]] = {
        "least": {one.load.per_minute: one.seconds_per_decision for one in least},
        "ours": {one.load.per_minute: one.seconds_per_decision for one in merged},
        "essay": {1: 6.4, 40: 1.6}, "fitted": {rate: essay.seconds_per_decision},
    }  # fmt: skip
    latency: dict[Kind, Mapping[float, float]] = {
        "least": {one.load.per_minute: one.p95_in_calls for one in least},
        "ours": {one.load.per_minute: one.p95_in_calls for one in merged},
        "goal": {one.load.per_minute: one.load.p95_goal for one in merged if one.load.p95_goal},
    }
    charts = (
        Chart("triggers a call", (1, 2, 4, 8, 16), batch, is_log=True),
        Chart("seconds a decision", (0, 2, 4, 6, 8), decision),
        Chart("p95 to the decision, in single calls", (0, 1, 2, 3, 4), latency),
    )
    return _svg(charts)


def _svg(charts: Sequence[Chart]) -> str:
    width, height = _STEP * len(charts) + 20, _TOP + _HEIGHT + 62
    drawn = "\n".join(_chart(chart, _LEFT + number * _STEP) for number, chart in enumerate(charts))
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"
     font-family="sans-serif" font-size="14">
  <title>By triggers a minute: {"; ".join(chart.title for chart in charts)}</title>
  <style>
{_STYLE}
  </style>
  <rect class="paper" width="{width}" height="{height}" rx="8"/>
{_legend()}
{drawn}
</svg>
"""


def _legend() -> str:
    lines: list[str] = []
    x = _LEFT
    for kind, words in _WORDS.items():
        lines.append(f'  {_mark(kind, x, 20)}<text class="dim" x="{x + 14}" y="24">{words}</text>')
        x += 40 + 7 * len(words)
    return "\n".join(lines)


def _chart(chart: Chart, left: int) -> str:
    lines = [f'  <text class="ink" x="{left - 20}" y="{_TOP - 18}">{chart.title}</text>']
    for tick in chart.ticks:
        y = _y(chart, tick)
        lines.append(f'  <path class="grid" stroke-width="1" d="M{left} {y}h{_WIDTH}"/>')
        lines.append(f'  <text class="dim" x="{left - 8}" y="{y + 4}" text-anchor="end">{tick:g}</text>')
    foot = _TOP + _HEIGHT
    lines += [
        f'  <text class="dim" x="{_x(rate, left)}" y="{foot + 20}" text-anchor="middle">{rate}</text>'
        for rate in _RATES
    ]
    lines.append(f'  <text class="dim" x="{left + _WIDTH // 2}" y="{foot + 40}" text-anchor="middle">a minute</text>')
    return "\n".join([*lines, *(_series(chart, kind, left) for kind in chart.values)])


def _series(chart: Chart, kind: Kind, left: int) -> str:
    points = [(_x(rate, left), _y(chart, value)) for rate, value in chart.values[kind].items()]
    line = f'<path class="{kind}" d="M{" L".join(f"{x} {y}" for x, y in points)}"/>' if kind in _LINED else ""
    return "  " + line + "".join(_mark(kind, x, y) for x, y in points)


def _mark(kind: Kind, x: float, y: float) -> str:
    match kind:
        case "goal":
            return f'<path class="goal" stroke-width="3" d="M{x - 9} {y}h18"/>'
        case "least":
            return f'<circle class="least" cx="{x}" cy="{y}" r="2"/>'
        case _:
            return f'<circle class="{kind}" stroke-width="2" cx="{x}" cy="{y}" r="4.5"/>'


def _x(rate: float, left: int) -> float:
    return left + _WIDTH * (0.5 + sum(rate > other for other in _RATES)) / len(_RATES)


def _y(chart: Chart, value: float) -> float:
    return round(_TOP + _HEIGHT * (1 - chart.height(value)), 1)
