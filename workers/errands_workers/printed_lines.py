"""What a call prints, on its way to the store: a piece twice a second, in order, with no piece missing unsaid."""

from __future__ import annotations

import time

import redis

from errands_config.scripts.attempts import output
from errands_config.scripts.script import run
from errands_config.wire import Claimed

INTERVAL_SECONDS = 0.5
GAP = "[the store has lost some of what was printed here]\n"


class PrintedLines:
    """Those of one call that are still to be sent. For one thread."""

    def __init__(self, claimed: Claimed) -> None:
        self.due = 0.0
        """When they are to be sent, as a reading of `time.monotonic`."""
        self._claimed = claimed
        self._waiting: list[str] = []
        self._is_full = False
        self._stored = 0

    @property
    def is_waiting(self) -> bool:
        """Whether there is something to send."""
        return bool(self._waiting)

    def add(self, text: str, *, is_full: bool) -> None:
        """Take whole lines. `is_full`: no more will come, although more is printed."""
        if not self._waiting:
            self.due = time.monotonic() + INTERVAL_SECONDS
        self._waiting.append(text)
        self._is_full |= is_full

    def send(self, store: redis.Redis) -> bool:
        """Send what waits; False if the attempt holds its call no more. Where the store lost lines, what comes next
        begins with saying so. Raises RedisError, after which it may be tried again."""
        text = "".join(self._waiting)
        self.due = time.monotonic() + INTERVAL_SECONDS
        there = run(store, output(self._claimed, self._stored, text, is_full=self._is_full))
        is_in = there is None or there == self._stored + len(text.encode())
        self._waiting = [] if is_in else [GAP, text]
        self._stored = there or 0
        return there is not None
