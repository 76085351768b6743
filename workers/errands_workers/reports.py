"""A call's news on their way to the store: progress thinned out, notifies one by one, in a thread of their own.

A tool's thread may be torn out of any frame by `CallStopped`, so it takes no lock here: it only puts into a queue.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Literal

import redis
import structlog

from errands_config.scripts.attempts import notify, progress
from errands_config.scripts.script import run
from errands_config.text import cap, clean, head
from errands_config.wire import Claimed
from errands_workers.json_text import json_text
from errands_workers.persistence import until_answered
from errands_workers.printed_lines import PrintedLines

MAX_PAYLOAD_BYTES = 8_192
"""Larger news are cut."""
_MOST_WAITING = 1_000
"""News that may wait to be sent; a tool that has more to say waits with them."""
_PAUSE_SECONDS = 0.005

log = structlog.get_logger()

Kind = Literal["progress", "event", "notify", "output", "last output", "close", "drop"]


@dataclass(frozen=True, slots=True)
class _News:
    of: CallReports
    kind: Kind
    text: str


class CallReports:
    """The reports of one call. Safe from any thread; `close` is for the thread that runs the call."""

    def __init__(
        self,
        inbox: SimpleQueue[_News],
        claimed: Claimed,
        interval: float,
        on_lost: Callable[[], None],
        output_bytes: int = 0,
    ) -> None:
        self.claimed = claimed
        self.interval = interval
        self.on_lost = on_lost
        self.closed = threading.Event()
        self.latest: str | None = None
        """The newest progress that was not sent yet. This and the next three are the reporter's."""
        self.next_progress = 0.0
        self.notified = 0
        self.printed = PrintedLines(claimed)
        self._output_room = output_bytes or -1
        self._inbox = inbox
        self._used = False

    def progress(self, payload: object) -> None:
        """Keep the newest news until it is their turn; `{"level": "notify", "message": …}` is a notify."""
        match payload:
            case {"level": "notify", "message": str(message)}:
                self.notify(message)
            case _:
                self._put("progress", _cut_json(json_text(payload, constants=True)))

    def event(self, payload: object) -> None:
        """Queue progress that no later one may replace."""
        self._put("event", json_text(payload))

    def notify(self, text: str) -> None:
        """Queue news for the model."""
        self._put("notify", cap(clean(text).text, MAX_PAYLOAD_BYTES))

    def output(self, text: str) -> bool:
        """Queue whole lines until they are too many."""
        if self._output_room < 0:
            return False
        size = len(text.encode())
        if size <= self._output_room:
            self._output_room -= size
            self._put("output", text)
            return True
        lines, newline, _ = head(text, self._output_room).rpartition("\n")
        self._output_room = -1
        self._put("last output", lines + newline)
        return False

    def close(self, *, completed: bool) -> None:
        """Return once all is sent: every notify and line, however long that takes, and the last progress if it goes
        through. `completed`: the call has a result, which will stand in place of what it printed."""
        if self._used:
            self._inbox.put(_News(self, "drop" if completed else "close", ""))
            self.closed.wait()

    def _put(self, kind: Kind, text: str) -> None:
        self._used = True
        while self._inbox.qsize() > _MOST_WAITING:
            time.sleep(_PAUSE_SECONDS)
        self._inbox.put(_News(self, kind, text))


class Reporter(threading.Thread):
    """Sends the news of the calls of one process."""

    def __init__(self, store: redis.Redis) -> None:
        super().__init__(name="reporter", daemon=True)
        self._store = store
        self._inbox: SimpleQueue[_News] = SimpleQueue()
        self._waiting: set[CallReports] = set()
        """Calls whose newest progress is sent when its time has come."""
        self._printing: set[CallReports] = set()
        """Calls of which lines are sent when their time has come."""

    def of(
        self, claimed: Claimed, *, per_second: float, on_lost: Callable[[], None], output_bytes: int = 0
    ) -> CallReports:
        """The reports of one call. `on_lost` is called when the store says that this attempt holds it no more.

        `output_bytes`: how much of what it prints is kept while it runs.
        """
        return CallReports(self._inbox, claimed, 1 / per_second, on_lost, output_bytes)

    def run(self) -> None:
        """Send what comes, for ever."""
        while True:
            try:
                self._take(self._inbox.get(timeout=self._pause()))
            except Empty:
                pass
            except redis.RedisError as refused:  # by the script itself: sending it again would not help
                log.error("worker.report_refused", error=type(refused).__name__)
            self._send_due(time.monotonic())

    def _pause(self) -> float | None:
        moments = [*(of.next_progress for of in self._waiting), *(of.printed.due for of in self._printing)]
        return max(0.0, min(moments) - time.monotonic()) if moments else None

    def _send_due(self, now: float) -> None:
        for of in [of for of in self._waiting if now >= of.next_progress]:
            self._send_latest(of)
        for of in [of for of in self._printing if now >= of.printed.due]:
            self._send_printed(of)

    def _take(self, news: _News) -> None:
        of = news.of
        if of.closed.is_set():  # from a thread that outlives its call: nobody is to be told any more
            return
        match news.kind:
            case "progress":
                of.latest = news.text
                self._waiting.add(of)
            case "event":
                self._send_latest(of)
                of.latest = news.text
                self._send_latest(of)
            case "notify":
                of.notified += 1
                self._send_notify(of, news.text)
            case "output" | "last output":
                of.printed.add(news.text, is_full=news.kind == "last output")
                self._printing.add(of)
            case "close" | "drop":
                self._send_latest(of)
                self._close(of, drop=news.kind == "drop")

    def _close(self, of: CallReports, *, drop: bool) -> None:
        self._printing.discard(of)
        try:
            while of.printed.is_waiting and not drop:
                until_answered(lambda: of.printed.send(self._store))
        finally:
            of.closed.set()

    def _send_printed(self, of: CallReports) -> None:
        try:
            held = of.printed.send(self._store)
        except redis.RedisError:
            return  # they are sent with the next ones
        if not of.printed.is_waiting:
            self._printing.discard(of)
        if not held:
            of.on_lost()

    def _send_notify(self, of: CallReports, text: str) -> None:
        payload = json_text({"level": "notify", "message": text})
        if until_answered(lambda: run(self._store, notify(of.claimed, of.notified, payload, text))) == "lost":
            of.on_lost()

    def _send_latest(self, of: CallReports) -> None:
        self._waiting.discard(of)
        payload, of.latest = of.latest, None
        if payload is None:
            return
        of.next_progress = time.monotonic() + of.interval
        try:
            answer = run(self._store, progress(of.claimed, payload))
        except redis.RedisError:
            return  # dropped: the next one says more
        if answer == "lost":
            of.on_lost()


def _cut_json(payload: str) -> str:
    """JSON text that is not too large to keep; of a larger one the beginning, as a JSON string."""
    if len(payload.encode()) <= MAX_PAYLOAD_BYTES:
        return payload
    return json_text(cap(payload, MAX_PAYLOAD_BYTES // 2))
