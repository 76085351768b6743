"""Commands that must reach the store: tried until it answers."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from redis.exceptions import ConnectionError, OutOfMemoryError, ReadOnlyError, TimeoutError  # noqa: A004

T = TypeVar("T")

_PASSING = (ConnectionError, TimeoutError, ReadOnlyError, OutOfMemoryError)
_FIRST_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 1.0


def until_answered(send: Callable[[], T]) -> T:
    """Repeat a command that bears it until the store has answered. A store that is away delays, and loses nothing.

    Only troubles of connection and of the store's state (still loading, read-only, out of memory) are waited for.
    """
    pause = _FIRST_PAUSE_SECONDS
    while True:
        try:
            return send()
        except _PASSING:
            time.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)
