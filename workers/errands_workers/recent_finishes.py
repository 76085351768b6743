"""What a process finished just now, kept for a store that comes back without it.

A store that writes to disk once a second may forget its last answers in a crash. It is another process then, with
another `run_id`.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Any, TypeAlias

import redis

from errands_config.scripts.script import Invocation, run

KEPT_SECONDS = 5.0
"""How far back a store may forget: two seconds, and some time to notice."""
KEPT_CHARACTERS = 16 * 1024 * 1024
"""Of all of them together; of more, the newest."""


Entered: TypeAlias = Invocation[Any]
"""What ended an attempt: the end of its call, or that it waits for somebody outside."""


class RecentFinishes:
    """What ended attempts in the last seconds; safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: deque[tuple[float, Entered]] = deque()
        self._characters = 0
        self._run_id = ""

    def add(self, finish: Entered) -> None:
        """Keep one that the store has answered."""
        with self._lock:
            self._kept.append((time.monotonic(), finish))
            self._characters += _size(finish)
            while self._characters > KEPT_CHARACTERS and len(self._kept) > 1:
                self._drop_oldest()

    def meet(self, store: redis.Redis) -> int:
        """Look whether the store is another process than before, and send it what it may have forgotten.

        Answers how many were sent again. While the store is away nothing is dropped. Raises redis-py's errors.
        """
        if self._run_id and not self._kept:
            return 0
        run_id = str(store.info("server")["run_id"])
        with self._lock:
            kept = [finish for _, finish in self._kept]
        again = kept if self._run_id not in ("", run_id) else []
        for finish in again:
            run(store, finish)
        self._run_id = run_id
        self._drop_older_than(time.monotonic() - KEPT_SECONDS)
        return len(again)

    def _drop_older_than(self, moment: float) -> None:
        with self._lock:
            while self._kept and self._kept[0][0] < moment:
                self._drop_oldest()

    def _drop_oldest(self) -> None:
        _, finish = self._kept.popleft()
        self._characters -= _size(finish)


def _size(finish: Entered) -> int:
    return sum(len(part) for part in finish.args if isinstance(part, str))
