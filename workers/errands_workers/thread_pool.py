"""Celery's pool of threads as we need it: a free slot is used at once, and a tool that goes on delays no exit."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Any

import structlog
from billiard.einfo import ExceptionInfo
from celery.concurrency.base import BasePool, apply_target

from errands_config.defects import where_raised

log = structlog.get_logger()

Work = Callable[[], object]


class ThreadPool(BasePool):
    """Runs calls in threads of the Celery process.

    Celery's own looks for the next message only when its loop happens to turn, and its threads keep a process from
    ending.
    """

    body_can_be_buffer = True
    signal_safe = False

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._inbox: SimpleQueue[Work | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._look_for_more: Callable[[], object] = _nothing

    def register_with_event_loop(self, loop: Any) -> None:
        """Remember Celery's loop, which is told when a slot is free."""
        self._look_for_more = lambda: loop.call_soon(_nothing)

    def on_apply(
        self,
        target: Callable[..., object],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
        callback: Callable[..., object] | None = None,
        accept_callback: Callable[..., object] | None = None,
        error_callback: Callable[..., object] | None = None,
        **_: Any,
    ) -> None:
        """Have a thread run it. For Celery's own thread."""
        work = partial(apply_target, target, args, kwargs, callback, accept_callback)
        self._inbox.put(partial(_done, work, error_callback))
        if len(self._threads) < (self.limit or 1):
            thread = threading.Thread(target=self._serve, name=f"slot-{len(self._threads) + 1}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self) -> None:
        while work := self._inbox.get():
            work()
            self._look_for_more()

    def on_stop(self) -> None:
        """Wait for the calls that run."""
        for _ in self._threads:
            self._inbox.put(None)
        for thread in self._threads:
            thread.join()

    def _get_info(self) -> dict[str, Any]:
        return {**super()._get_info(), "processes": [os.getpid()], "threads": len(self._threads)}


def _done(work: Work, error_callback: Callable[..., object] | None) -> None:
    """Run it to its end; what fails here is the worker's own, and Celery is told as if a process had died of it."""
    try:
        work()
    except Exception as defect:
        log.error("worker.defect", error=type(defect).__name__, place=where_raised(defect))
        if error_callback:
            error_callback(ExceptionInfo())


def _nothing() -> None:
    """That there is something to do turns the loop, and that is all."""
