"""Ctrl-C, counted: the first press asks for an end, the second leaves."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Generator
from contextlib import contextmanager


class Interrupts:
    """How often the person asked for an end. SIGTERM counts as leaving."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.leaving = asyncio.Event()
        self._next = asyncio.Event()

    def press(self) -> None:
        """One Ctrl-C."""
        (self.leaving if self.asked.is_set() else self.asked).set()
        self._next.set()

    async def any(self) -> None:
        """Wait until the end was asked for, in whatever way."""
        waiting = [asyncio.ensure_future(event.wait()) for event in (self.asked, self.leaving)]
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for one in waiting:
            one.cancel()

    async def another(self) -> None:
        """Wait for a press that is still to come."""
        self._next.clear()
        await self._next.wait()


@contextmanager
def interrupts() -> Generator[Interrupts]:
    """Count inside the block instead of raising KeyboardInterrupt."""
    loop = asyncio.get_running_loop()
    counted = Interrupts()
    loop.add_signal_handler(signal.SIGINT, counted.press)
    loop.add_signal_handler(signal.SIGTERM, counted.leaving.set)
    try:
        yield counted
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        loop.remove_signal_handler(signal.SIGTERM)
