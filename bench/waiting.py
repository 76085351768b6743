"""Waiting for what can only be looked at."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def until(check: Callable[[], T], *, every: float = 0.001, within: float = 60.0) -> T:
    """Look until there is something true, and return it. Raises TimeoutError after `within` seconds."""
    async with asyncio.timeout(within):
        while not (seen := check()):  # noqa: ASYNC110 - nobody sets an event for it
            await asyncio.sleep(every)
    return seen
