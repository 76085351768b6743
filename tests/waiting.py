"""How tests wait: for a condition, with a deadline, and never for a time."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

_PAUSE_SECONDS = 0.01


def eventually(check: Callable[[], T], *, within: float = 10.0, saying: str = "") -> T:
    """Call `check` until it returns something true, and return that; after `within` seconds an AssertionError."""
    give_up = time.monotonic() + within
    while not (seen := check()):
        if time.monotonic() > give_up:
            raise AssertionError(_late(within, saying, seen))
        threading.Event().wait(_PAUSE_SECONDS)
    return seen


async def aeventually(check: Callable[[], Awaitable[T]], *, within: float = 10.0, saying: str = "") -> T:
    """`eventually` for a condition that is awaited."""
    give_up = time.monotonic() + within
    while not (seen := await check()):
        if time.monotonic() > give_up:
            raise AssertionError(_late(within, saying, seen))
        await asyncio.sleep(_PAUSE_SECONDS)
    return seen


def _late(within: float, saying: str, seen: object) -> str:
    return f"not within {within:g} s: {saying or 'the condition'}; last seen: {seen!r}"
