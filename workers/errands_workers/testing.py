"""A harness for tests of tools: the same checks, results and failures as on a worker, without a server."""

from __future__ import annotations

import asyncio
import functools
import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import to_json

from errands_config.errors import InvalidArguments
from errands_config.wire import CallState, Deferral, Outcome
from errands_workers.attempt import failed
from errands_workers.context import CallFacts, CallStopped, ToolContext
from errands_workers.json_text import json_text
from errands_workers.kinds.function import completed, raised, with_context
from errands_workers.kinds.kind import RunEnd
from errands_workers.tool import Tool


@dataclass(frozen=True, slots=True)
class Trial:
    """What a tool did in one call. `progress`: every report, not thinned out; `notifies`: their texts; `output`: the
    lines that it printed for whoever reads the call while it runs.

    Of a tool that left its call to somebody outside `deferral` has the terms, and the outcome's state is `deferred`.
    """

    outcome: Outcome
    progress: list[Any] = field(default_factory=list[Any])
    notifies: list[str] = field(default_factory=list[str])
    deferral: Deferral | None = None
    output: str = ""

    @property
    def result(self) -> Any:
        """What the tool returned, as a model would get it: text, or the value of its JSON."""
        return json.loads(self.outcome.result) if self.outcome.result_type == "json" else self.outcome.result


class ToolHarness:
    """Calls tools as a worker would.

    With `cancel_after` a call is asked to end after so many seconds: `ctx.cancelled`, `ctx.sleep` and the cancellation
    of an async tool work as on a worker. A tool that ignores all that is not interrupted by force here.
    """

    def __init__(
        self, *, timeout: float = 60.0, cancel_after: float | None = None, call_id: str = "call", attempt: int = 1
    ) -> None:
        self._timeout = timeout
        self._cancel_after = cancel_after
        self._call_id = call_id
        self._attempt = attempt

    async def call(self, tool: Tool[..., Any], arguments: Mapping[str, Any]) -> Trial:
        """Run a tool, async or not, and say what it did. Arguments are given as a model would, by name."""
        if not tool.is_async:
            return await asyncio.to_thread(self.call_sync, tool, arguments)
        run = _Run(self, tool)
        task = asyncio.ensure_future(run.awaited(arguments))
        loop = asyncio.get_running_loop()
        timer = loop.call_later(self._cancel_after, run.stop, task) if self._cancel_after is not None else None
        await asyncio.wait([task])
        if timer:
            timer.cancel()
        return run.trial(None if task.cancelled() else task.result())

    def call_sync(self, tool: Tool[..., Any], arguments: Mapping[str, Any]) -> Trial:
        """`call` for a test without an event loop."""
        if tool.is_async:
            return asyncio.run(self.call(tool, arguments))
        run = _Run(self, tool)
        timer = threading.Timer(self._cancel_after, run.stop) if self._cancel_after is not None else None
        if timer:
            timer.start()
        outcome = run.called(arguments)
        if timer:
            timer.cancel()
        return run.trial(outcome)

    def context(self, stopped: threading.Event, reports: _Kept) -> ToolContext:
        """The context that a tool is given."""
        facts = CallFacts(self._call_id, "session", self._attempt, time.monotonic() + self._timeout)
        return ToolContext(facts, stopped, reports)


class _Kept:
    """Reports that a test can look at."""

    def __init__(self) -> None:
        self.said: list[Any] = []
        self.notifies: list[str] = []
        self.printed: list[str] = []

    def progress(self, payload: object) -> None:
        self.said.append(json.loads(json_text(payload, constants=True)))

    def notify(self, text: str) -> None:
        self.notifies.append(text)

    def output(self, text: str) -> bool:
        self.printed.append(text)
        return True


class _Run:
    """One call."""

    def __init__(self, harness: ToolHarness, tool: Tool[..., Any]) -> None:
        self._tool = tool
        self._stopped = threading.Event()
        self._reports = _Kept()
        self._context = harness.context(self._stopped, self._reports)

    def stop(self, task: asyncio.Future[Any] | None = None) -> None:
        self._stopped.set()
        if task:
            task.cancel()

    def called(self, arguments: Mapping[str, Any]) -> RunEnd:
        try:
            return completed(self._prepared(arguments)())
        except BaseException as error:
            return _told(error)

    async def awaited(self, arguments: Mapping[str, Any]) -> RunEnd:
        try:
            return completed(await self._prepared(arguments)())
        except BaseException as error:
            return _told(error)

    def _prepared(self, arguments: Mapping[str, Any]) -> functools.partial[Any]:
        schema = self._tool.schema
        read = schema.read(to_json(dict(arguments)).decode())
        return functools.partial(self._tool.function, **with_context(schema, read, self._context))

    def trial(self, end: RunEnd | None) -> Trial:
        """What was seen; a call that was asked to end is cancelled, whatever its tool made of it."""
        deferral = None
        if self._stopped.is_set() or end is None:
            end = Outcome(state=CallState.CANCELLED, by="user", reason="cancelled by the test")
        elif isinstance(end, Deferral):
            end, deferral = Outcome(state=CallState.DEFERRED, reason=end.reason), end
        return Trial(end, self._reports.said, self._reports.notifies, deferral, "".join(self._reports.printed))


def _told(error: BaseException) -> RunEnd:
    if isinstance(error, InvalidArguments):
        return failed(str(error), "invalid arguments")
    if isinstance(error, CallStopped):
        return failed("the tool stopped itself", "CallStopped")
    return raised(error)
