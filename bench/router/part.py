"""The part `router` of the benchmark: a little less than a minute."""

from __future__ import annotations

from collections.abc import Iterator

from bench.figure import Figure
from bench.router import page
from bench.router.figures import figures
from bench.router.load import ESSAY, LOADS, REAL
from bench.router.play import play


def router() -> Iterator[Figure]:
    """Play all loads one after another, and renew the router's table and picture in the documentation."""
    merged = [play(load) for load in LOADS]
    real = play(REAL)
    page.renew(merged, play(ESSAY), real)
    yield from figures(merged, real)
