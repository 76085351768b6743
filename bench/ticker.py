"""How long one event loop was kept from its other work."""

from __future__ import annotations

import asyncio
from time import perf_counter
from types import TracebackType
from typing import Self

_EVERY = 0.001


class Ticker:
    """Inside the block it wants to be woken every millisecond; `latest` is the longest time it had to wait beyond."""

    def __init__(self) -> None:
        self.latest = 0.0

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._tick())
        await asyncio.sleep(2 * _EVERY)
        self.latest = 0.0
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.sleep(2 * _EVERY)
        self._task.cancel()

    async def _tick(self) -> None:
        while True:
            due = perf_counter() + _EVERY
            await asyncio.sleep(_EVERY)
            self.latest = max(self.latest, perf_counter() - due)
