"""What is to be done later in a run, by one thread."""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")

_PAUSE_SECONDS = 0.02


class Timeline:
    """Things to do, each at its moment."""

    def __init__(self) -> None:
        self._todo: list[tuple[float, int, Callable[[], object]]] = []
        self._numbers = itertools.count()

    def after(self, seconds: float, act: Callable[[], object]) -> None:
        """Do this in so many seconds, from the thread that passes the time."""
        heapq.heappush(self._todo, (time.monotonic() + seconds, next(self._numbers), act))

    def do_due(self) -> None:
        """Do what is due."""
        while self._todo and self._todo[0][0] <= time.monotonic():
            _, _, act = heapq.heappop(self._todo)
            act()

    def do_all(self) -> None:
        """Do at once whatever is left, in order."""
        while self._todo:
            _, _, act = heapq.heappop(self._todo)
            act()

    def wait(self, seconds: float, until: Callable[[], bool] = lambda: False) -> bool:
        """Let time pass and do what falls due, until something holds; whether it did."""
        end = time.monotonic() + seconds
        while not (holds := until()) and time.monotonic() < end:
            self.do_due()
            threading.Event().wait(_PAUSE_SECONDS)
        return holds

    def await_result(self, future: Future[T], seconds: float) -> T | None:
        """What comes within so many seconds, while what falls due is done; None if nothing does."""
        end = time.monotonic() + seconds
        while not future.done() and time.monotonic() < end:
            self.do_due()
            threading.Event().wait(_PAUSE_SECONDS / 20)
        return future.result() if future.done() else None
