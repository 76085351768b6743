"""The baseline: plain Celery with its Redis result backend, as its documentation shows it, on the same store."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

from celery import Celery

from bench.cpu import cpu_now
from bench.figure import Round
from errands_config.settings import Settings
from errands_config.store import broker_url

_ADDRESS = "BENCH_BROKER"
READY_SECONDS = 60.0


def celery_app(address: str) -> Celery:
    """Celery with its defaults, but for what the store needs."""
    made = Celery("baseline", broker=address, backend=address, set_as_current=False)
    made.conf.update(task_default_queue="baseline", broker_connection_retry_on_startup=True)
    made.task(name="nothing")(_nothing)
    return made


def _nothing(text: str) -> str:
    return text


if _ADDRESS in os.environ:  # the worker process, which `celery -A` starts
    app = celery_app(os.environ[_ADDRESS])


class CeleryBaseline:
    """A running worker, and the client of this process."""

    def __init__(self, settings: Settings, worker: int) -> None:
        self.app = celery_app(broker_url(settings))
        self.worker = worker
        self.nothing: Any = self.app.tasks["nothing"]

    def calls(self, count: int, store: int) -> Round:
        """So many calls, one at a time: `apply_async`, then `get`."""
        before = cpu_now(self.worker, store)
        seconds = tuple(self._call() for _ in range(count))
        return Round(seconds, cpu_now(self.worker, store) - before)

    def _call(self) -> float:
        began = perf_counter()
        self.nothing.apply_async(("x",)).get(timeout=READY_SECONDS)
        return perf_counter() - began


@contextmanager
def celery_baseline(settings: Settings, slots: int) -> Generator[CeleryBaseline]:
    """A prefork worker of plain Celery inside the block."""
    command = [sys.executable, "-m", "celery", "-A", "bench.baseline_celery", "worker"]
    command += ["--pool", "prefork", "--concurrency", str(slots), "--loglevel", "WARNING", "-n", "baseline@%h"]
    environment = os.environ | {_ADDRESS: broker_url(settings)}
    with (settings.home / "celery.log").open("wb") as log:
        process = subprocess.Popen(
            command, env=environment, cwd=Path(__file__).parents[1], stdout=log, stderr=log, stdin=subprocess.DEVNULL
        )
    baseline = CeleryBaseline(settings, process.pid)
    try:
        baseline.nothing.apply_async(("x",)).get(timeout=READY_SECONDS)
        yield baseline
    finally:
        baseline.app.close()
        process.terminate()
        process.wait(30)
