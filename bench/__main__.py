"""`make bench`: every figure, in one run. Prints them, writes `bench/results.json` and renews docs/performance.md."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bench import page
from bench.cancel import cancel
from bench.cpu import busy_share
from bench.dispatch import dispatch
from bench.figure import Figure
from bench.in_flight import in_flight
from bench.one_call import one_call
from bench.parked import parked
from bench.policy import policy
from bench.router.part import router
from bench.scaling import scaling
from bench.stage import own_store, product_worker, stage
from bench.step_cpu import step_cpu
from bench.table import notes, table, write
from bench.waking import waking

RESULTS = Path(__file__).with_name("results.json")
SLOTS = 2
BUSY = 0.25
"""Share of the machine used by others beyond which figures are not to be trusted much."""

_KEPT = "keeps nothing, but that router renews its table and picture in docs/"


def _one_call() -> Iterator[Figure]:
    with stage(SLOTS, "tcp") as both:
        yield one_call(both, "fast")
        yield one_call(both, "durable")
    with stage(SLOTS, "unix") as both:
        yield one_call(both, "fast")


def _dispatch() -> Iterator[Figure]:
    with own_store() as store:
        yield from dispatch(store, "fast")
        yield from dispatch(store, "durable")


def _step_cpu() -> Iterator[Figure]:
    with own_store() as store, product_worker(store.settings, SLOTS):
        yield from step_cpu(store)


def _cancel() -> Iterator[Figure]:
    with own_store() as store, product_worker(store.settings, 1) as worker:
        yield from cancel(store, worker)


def _parked() -> Iterator[Figure]:
    yield from parked()


def _waking() -> Iterator[Figure]:
    with own_store() as store:
        yield waking(store)


def _in_flight() -> Iterator[Figure]:
    yield in_flight()


def _policy() -> Iterator[Figure]:
    yield from policy()


PARTS: dict[str, Callable[[], Iterator[Figure]]] = {
    "one_call": _one_call, "dispatch": _dispatch, "step_cpu": _step_cpu, "cancel": _cancel, "parked": _parked,
    "waking": _waking, "in_flight": _in_flight, "scaling": scaling, "policy": _policy,
    "router": router,
}  # fmt: skip


def main() -> None:
    """Run all parts, or those that are named."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"only these: {', '.join(PARTS)}; {_KEPT}")
    names = parser.parse_args().parts or list(PARTS)
    if unknown := set(names) - PARTS.keys():
        parser.error(f"no part {min(unknown)!r}")
    before, began = busy_share(), time.monotonic()
    figures = [figure for name in names for figure in _told(name)]
    told = "\n\n".join((table(figures), _circumstances(before, time.monotonic() - began), notes(figures)))
    print(told)
    if len(names) == len(PARTS):
        write(RESULTS, figures)
        page.renew("run", told)


def _told(name: str) -> list[Figure]:
    print(f"measuring {name} ...", file=sys.stderr, flush=True)
    return list(PARTS[name]())


def _circumstances(before: float, seconds: float) -> str:
    after = busy_share()
    said = f"{seconds:.0f} s; of the machine others used {before:.0%} before the run and {after:.0%} behind it"
    return f"{said}: too much to trust single figures." if max(before, after) > BUSY else f"{said}."


if __name__ == "__main__":
    main()
