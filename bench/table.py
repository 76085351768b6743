"""The figures as a table for people, and as JSON for programs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import orjson

from bench.figure import Figure, Side

_HEAD = ("figure", "store", "measured", "goal", "", "product", "baseline", "CPU: client + worker + store")
_VERDICT = {True: "holds", False: "MISSED", None: ""}


def table(figures: Iterable[Figure]) -> str:
    """Aligned Markdown: ratios are of medians, `product` and `baseline` medians of one call in ms."""
    return aligned([_HEAD, *map(_row, figures)])


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table whose first row is its head."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    lines.insert(1, "| " + " | ".join("-" * width for width in widths) + " |")
    return "\n".join(lines)


def notes(figures: Iterable[Figure]) -> str:
    """What is to be said beside the figures, a line each."""
    return "\n".join(f"* {one.name} ({one.durability}): {one.note}" for one in figures if one.note)


def _row(one: Figure) -> tuple[str, ...]:
    goal = "" if one.goal is None else f"<= {_value(one, one.goal)}"
    return (
        one.name, one.durability, _value(one, one.ratio), goal, _VERDICT[one.holds], _median(one.product),
        _median(one.baseline), _cpu(one),
    )  # fmt: skip


def _value(one: Figure, value: float) -> str:
    return f"{value:.3g}x" if one.unit == "x" else f"{value:.3g} {one.unit}"


def _median(side: Side | None) -> str:
    return "" if side is None else f"{side.median_ms:.3g} ({side.lowest_ms:.3g} to {side.highest_ms:.3g})"


def _cpu(one: Figure) -> str:
    if not (one.product and one.baseline and one.product.cpu_ms):
        return ""
    return f"{_parts(one.product)}, baseline {_parts(one.baseline)}"


def _parts(side: Side) -> str:
    parts = [side.cpu_client_ms, side.cpu_worker_ms, side.cpu_store_ms]
    return " + ".join(f"{part:.2f}" for part in parts if part) or "0"


def write(path: Path, figures: Sequence[Figure]) -> None:
    """Write `results.json`: a list of name, ratio, goal, holds, and everything else that was measured."""
    text = orjson.dumps([_plain(one) for one in figures], option=orjson.OPT_INDENT_2)
    path.write_bytes(text + b"\n")


def _plain(one: Figure) -> dict[str, Any]:
    fields = _rounded(dataclasses.asdict(one))
    first = {"name": one.name, "ratio": fields["ratio"], "goal": one.goal, "holds": one.holds}
    return {**first, **fields}


def _rounded(value: Any) -> Any:
    match value:
        case float():
            return float(f"{value:.4g}")
        case dict():
            return {name: _rounded(inner) for name, inner in value.items()}
        case _:
            return value
