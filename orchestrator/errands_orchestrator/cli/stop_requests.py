"""Requests to stop, counted: Ctrl-C, SIGTERM and a terminal that is closed mean the same."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_POLL_SECONDS = 0.05


class StopRequests:
    """How often the end was asked for: once means in order, twice means at once."""

    def __init__(self) -> None:
        self.count = 0

    def note(self, _number: int, _frame: FrameType | None) -> None:
        """A handler of signals."""
        self.count += 1

    async def reach(self, count: int) -> None:
        """Wait until it was asked for that often."""
        while True:  # looked at, not waited for: the handlers stand from before the loop begins until after it ends
            if self.count >= count:
                return
            await asyncio.sleep(_POLL_SECONDS)


@contextmanager
def stop_requests() -> Generator[StopRequests]:
    """Count inside the block, from its first line to its last: nothing in it is interrupted half-way."""
    requests = StopRequests()
    before = {number: signal.signal(number, requests.note) for number in _SIGNALS}
    try:
        yield requests
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
