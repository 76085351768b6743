"""What a tool gets to know about its own call, and the two things that it may say while it runs."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

from errands_config.text import cap, clean
from errands_config.wire import Deferral

_NOTHING: Any = object()
_MOST_OF_A_REASON = 2_000


class CallStopped(BaseException):
    """The call was asked to end. No `Exception`, so that a tool which goes on after every error still ends."""


class CallDeferred(BaseException):
    """The tool has left its call to somebody outside. No `Exception`, for the same reason as `CallStopped`."""

    def __init__(self, deferral: Deferral) -> None:
        super().__init__()
        self.deferral = deferral


class Reports(Protocol):
    """Where a call's news and what it prints go."""

    def progress(self, payload: object) -> None:
        """Take news that the next one may replace."""
        ...

    def notify(self, text: str) -> None:
        """Take news that the model shall hear of."""
        ...

    def output(self, text: str) -> bool:
        """Take whole lines, clean, for whoever reads the call while it runs; False once no more are kept."""
        ...


@dataclass(frozen=True, slots=True)
class CallFacts:
    """Who a call is. `deadline` is a reading of `time.monotonic`."""

    call_id: str
    session_id: str
    attempt: int
    deadline: float


class ToolContext:
    """The running call, for its tool: a parameter with this annotation is filled in, whatever its name.

    Usable from any thread of the call. Nothing here waits for the store.
    """

    def __init__(
        self, facts: CallFacts, stopped: threading.Event, reports: Reports, leaving: Callable[[], bool] = lambda: False
    ) -> None:
        self._facts = facts
        self._leaving = leaving
        self._stopped = stopped
        self._reports = reports

    @property
    def call_id(self) -> str:
        """Our id of the call."""
        return self._facts.call_id

    @property
    def session_id(self) -> str:
        """The conversation that the call belongs to."""
        return self._facts.session_id

    @property
    def attempt(self) -> int:
        """1 for the first run of the call."""
        return self._facts.attempt

    @property
    def idempotency_key(self) -> str:
        """Unique to the call and the same in all its attempts, for services that do a thing once a key."""
        return self._facts.call_id

    @property
    def deadline(self) -> float:
        """When the call is stopped as timed out, as a reading of `time.monotonic`."""
        return self._facts.deadline

    @property
    def remaining(self) -> float:
        """Seconds until the deadline, never below 0."""
        return max(0.0, self._facts.deadline - time.monotonic())

    @property
    def cancelled(self) -> bool:
        """Whether the call was asked to end, by somebody or by its deadline.

        A cooperative tool has to look at it. The thread of any other sync tool is interrupted at the same moment, so
        there this is for the tool's other threads and loops.
        """
        return self._stopped.is_set()

    @property
    def stopping(self) -> bool:
        """Whether the worker was told to go: the call has ERRANDS_DRAIN_SECONDS from then on to come to an end.

        Behind that it is lost, or started again elsewhere where the tool or the agent says that this is safe.
        """
        return self._leaving()

    def raise_if_cancelled(self) -> None:
        """Leave the tool (`CallStopped`) if the call was asked to end."""
        if self.cancelled:
            raise CallStopped

    def sleep(self, seconds: float) -> None:
        """Wait; leaves the tool (`CallStopped`) as soon as the call is asked to end. For sync tools only."""
        if _in_a_loop():
            raise RuntimeError("ctx.sleep would block the event loop; use `await asyncio.sleep(...)` in an async tool")
        if self._stopped.wait(max(0.0, seconds)):
            raise CallStopped

    def defer(self, reason: str, expires_seconds: float | None = None) -> NoReturn:
        """Leave the tool: somebody outside completes the call, with a token of its own. It never returns.

        What the tool has begun in this process ends. `reason` is shown to whoever looks at what waits; after
        `expires_seconds` (None: as long as ERRANDS_MAX_DEFERRED_SECONDS) without an answer the call is expired.
        For the tool's own thread or coroutine. A call of an agent whose `executionMode` is not `asynchronous` fails.
        Raises ValueError for a number of seconds that is not above 0.
        """
        if expires_seconds is not None and not 0 < expires_seconds < float("inf"):
            raise ValueError("expires_seconds: a number of seconds above 0 is expected")
        said = cap(clean(reason).text, _MOST_OF_A_REASON)
        raise CallDeferred(Deferral(kind="tool", reason=said, expires_seconds=expires_seconds))

    def progress(self, payload: Any = _NOTHING, /, **fields: Any) -> None:
        """Report news: one JSON value, or named ones, `progress(done=3, total=40)`.

        At most five a second are kept; of faster ones the newest. The last one is always kept.
        """
        if (payload is _NOTHING) == (not fields):
            raise TypeError("progress takes either one value or named values")
        self._reports.progress(fields if payload is _NOTHING else payload)

    def notify(self, text: str) -> None:
        """Report news that the model shall hear of at once. Of a call 16 become mail, further ones progress only."""
        self._reports.notify(text)

    def output(self, text: str) -> None:
        """Print one or several lines, for a model that reads the call while it runs or after it failed.

        They are no part of the result, and gone once there is one. What does not end with a newline gets one. Kept are
        the first ones, in all about half of ERRANDS_MAX_STORED_BYTES.
        """
        lines = clean(text).text
        self._reports.output(lines if lines.endswith("\n") else f"{lines}\n")


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
