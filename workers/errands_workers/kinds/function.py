"""Python functions as tools: sync ones in the thread that runs the call, async ones on the process's one event loop.

A function is stopped by an exception in the midst of it. For a sync one the watching thread sends the main thread a
signal, which also wakes a sleep; its handler raises `CallStopped`, but only into frames that the tool has entered: ours
are never torn, however the signal and the tool's end may race. A cooperative one is told, and left alone: it may run in
one of many threads.
"""

from __future__ import annotations

import functools
import os
import signal
import threading
from collections.abc import Callable, Collection, Coroutine
from dataclasses import dataclass
from types import FrameType
from typing import Any

from errands_config.errors import ToolError
from errands_config.wire import CallState, Outcome
from errands_workers.attempt import PRESS_SECONDS, Attempt, failed
from errands_workers.context import CallDeferred, CallFacts, CallStopped, Reports, ToolContext
from errands_workers.json_text import NotJsonError, json_text
from errands_workers.kinds.coroutine import run_coroutine
from errands_workers.kinds.kind import Run, RunEnd
from errands_workers.schema import ToolSchema
from errands_workers.tool import Tool

STOP_SIGNAL = signal.SIGUSR2
PATIENCE_SECONDS = 3 * PRESS_SECONDS
"""A function that goes on after three requests is ended with its process."""
COOPERATIVE_SECONDS = 12.0
"""How long a cooperative function may take to heed its stop. Longer than whoever asked for it waits to see it
confirmed, so that the answer is that it is not, and what is told later is no contradiction."""

Work = Callable[[], RunEnd]


@dataclass(frozen=True, slots=True)
class FunctionTool:
    """A `@tool`, ready to be run."""

    tool: Tool[..., Any]
    reports_per_second: float = 5.0

    @property
    def description(self) -> str:
        """The docstring without its parts about parameters."""
        return self.tool.schema.description

    @property
    def parameters(self) -> str:
        """The schema that its type hints say."""
        return self.tool.schema.parameters

    @property
    def retries(self) -> int:
        """As `@tool(retries=…)` says."""
        return self.tool.options.retries

    def unfit_for_secrets(self, arguments: Collection[str]) -> str:
        """A function takes any."""
        return ""

    def prepare(self, arguments: str) -> Run:
        """Read the arguments strictly, by the type hints."""
        return functools.partial(_run, self.tool, self.tool.schema.read(arguments))


def _run(tool: Tool[..., Any], arguments: dict[str, Any], attempt: Attempt, reports: Reports) -> RunEnd:
    given = with_context(tool.schema, arguments, context_of(attempt, reports))
    function = functools.partial(tool.function, **given)
    patience = COOPERATIVE_SECONDS if tool.options.cooperative else PATIENCE_SECONDS
    if tool.is_async:
        return run_coroutine(lambda: _awaited(function), attempt, patience)
    if tool.options.cooperative:
        return _run_sync(function, attempt, press=_told_is_enough, patience=patience)
    signal.signal(STOP_SIGNAL, functools.partial(_on_stop_signal, attempt))
    main = threading.get_ident()
    return _run_sync(function, attempt, press=lambda: signal.pthread_kill(main, STOP_SIGNAL), patience=patience)


def context_of(attempt: Attempt, reports: Reports) -> ToolContext:
    """The context of a call."""
    claimed = attempt.claimed
    facts = CallFacts(claimed.call, claimed.session, claimed.attempt, attempt.deadline)
    return ToolContext(facts, attempt.stopped, reports, attempt.leaving)


def with_context(schema: ToolSchema, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
    """The arguments, with the context where the function wants it."""
    return {**arguments, schema.context: context} if schema.context else arguments


def _run_sync(function: Callable[[], Any], attempt: Attempt, *, press: Callable[[], None], patience: float) -> RunEnd:
    with attempt.stoppable(press, patience):
        outcome, error = _entered(lambda: completed(function()))
        if error is not None:
            outcome, worse = _entered(functools.partial(raised, error))
            outcome = outcome or unspeakable(error, worse)
        attempt.end()
    assert outcome is not None
    return outcome


def _told_is_enough() -> None:
    """A cooperative function looks at its context, which knows already."""


def _entered(work: Work) -> tuple[RunEnd | None, BaseException | None]:
    """Run foreign code. `CallStopped` is raised into what this calls and never into this frame, which catches all."""
    here = os.getpid()
    try:
        return work(), None
    except BaseException as error:
        return None, error
    finally:
        if os.getpid() != here:  # a copy of this process that the tool made and let return: it has no call of its own
            os._exit(0)


def _on_stop_signal(attempt: Attempt, _number: int, frame: FrameType | None) -> None:
    above = frame and frame.f_back
    while above and above.f_code is not _entered.__code__:
        above = above.f_back
    if above and attempt.stop:
        raise CallStopped


async def _awaited(function: Callable[[], Coroutine[Any, Any, Any]]) -> RunEnd:
    try:
        return completed(await function())
    except BaseException as error:
        return _told(error)


def _told(error: BaseException) -> RunEnd:
    try:
        return raised(error)
    except BaseException as worse:
        return unspeakable(error, worse)


def completed(value: object) -> Outcome:
    """The result of a function: text as it is, everything else as JSON."""
    if isinstance(value, str):
        return Outcome(state=CallState.COMPLETED, result=str(value))
    try:
        return Outcome(state=CallState.COMPLETED, result=json_text(value), result_type="json")
    except NotJsonError as unfit:
        return failed(f"the result is {unfit}", "result not JSON")


def raised(error: BaseException) -> RunEnd:
    """What an exception is to its call."""
    return error.deferral if isinstance(error, CallDeferred) else failure(error)


def failure(error: BaseException) -> Outcome:
    """The failure that an exception is. Its text is foreign: it may run the tool's own code, and raise."""
    kind = type(error).__name__
    if isinstance(error, ToolError):
        return failed(str(error), kind)
    text = str(error)
    if isinstance(error, BaseExceptionGroup):
        text = "; ".join([text, *(f"{type(one).__name__}: {one}" for one in error.exceptions[:10])])
    return failed(f"{kind}: {text}" if text else kind, kind)


def unspeakable(error: BaseException, worse: BaseException | None) -> Outcome:
    """The failure of an exception whose text cannot be had."""
    kind = type(error).__name__
    why = f"its text cannot be read: {type(worse).__name__}"
    return failed(f"{kind} ({why})", kind)
