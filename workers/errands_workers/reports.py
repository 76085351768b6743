"""A call's news on their way to the store: progress thinned out, notifies one by one, all of it off the tool's thread."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

import redis

from errands_config.scripts.attempts import notify, progress
from errands_config.scripts.script import run
from errands_config.text import cap, clean
from errands_config.wire import Claimed
from errands_workers.json_text import json_text
from errands_workers.persistence import until_answered

MAX_PAYLOAD_BYTES = 8_192
"""Larger news are cut."""
_MOST_WAITING = 64
"""Notifies that may wait for the store; a tool that has more to say waits with them."""


class StoreReports:
    """The reports of one call. Its thread starts with the first of them. Safe from any thread."""

    def __init__(
        self, claimed: Claimed, store: redis.Redis, *, per_second: float, on_lost: Callable[[], None]
    ) -> None:
        self._claimed = claimed
        self._store = store
        self._interval = 1 / per_second
        self._on_lost = on_lost
        self._changed = threading.Condition()
        self._latest: str | None = None
        self._notifies: deque[str] = deque()
        self._next_progress = 0.0
        self._closing = False
        self._thread: threading.Thread | None = None

    def progress(self, payload: object) -> None:
        """Keep the newest news until it is their turn; `{"level": "notify", "message": …}` is a notify."""
        match payload:
            case {"level": "notify", "message": str(message)}:
                self.notify(message)
            case _:
                text = cap_payload(json_text(payload, constants=True))
                with self._changed:
                    self._latest = text
                    self._wake()

    def notify(self, text: str) -> None:
        """Queue news for the model."""
        cut = cap(clean(text).text, MAX_PAYLOAD_BYTES)
        with self._changed:
            while len(self._notifies) >= _MOST_WAITING and not self._closing:
                self._changed.wait()
            self._notifies.append(cut)
            self._wake()

    def close(self) -> None:
        """Send what is left: every notify, however long the store is away, and the last progress if it answers."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        if self._thread:
            self._thread.join()

    def _wake(self) -> None:
        if not self._thread and not self._closing:
            self._thread = threading.Thread(target=self._send_all, name="reports", daemon=True)
            self._thread.start()
        self._changed.notify_all()

    def _send_all(self) -> None:
        number = 0
        while news := self._next():
            kind, text = news
            if kind == "notify":
                number += 1
                self._send_notify(number, text)
            else:
                self._send_progress(text)

    def _next(self) -> tuple[str, str] | None:
        """The next news to send, as soon as it is their turn; None when all is said. Order is kept among notifies."""
        with self._changed:
            while True:
                if self._notifies:
                    self._changed.notify_all()
                    return "notify", self._notifies.popleft()
                wait = self._next_progress - time.monotonic()
                if self._latest is not None and (wait <= 0 or self._closing):
                    text, self._latest = self._latest, None
                    return "progress", text
                if self._closing:
                    return None
                self._changed.wait(None if self._latest is None else wait)

    def _send_notify(self, number: int, text: str) -> None:
        payload = json_text({"level": "notify", "message": text})
        if until_answered(lambda: run(self._store, notify(self._claimed, number, payload, text))) == "lost":
            self._on_lost()

    def _send_progress(self, payload: str) -> None:
        self._next_progress = time.monotonic() + self._interval
        try:
            answer = run(self._store, progress(self._claimed, payload))
        except redis.RedisError:
            return  # dropped: the next one says more
        if answer == "lost":
            self._on_lost()


def cap_payload(payload: str) -> str:
    """JSON text that is not too large to keep; of a larger one the beginning, as a JSON string."""
    if len(payload.encode()) <= MAX_PAYLOAD_BYTES:
        return payload
    return json_text(cap(payload, MAX_PAYLOAD_BYTES // 2))
