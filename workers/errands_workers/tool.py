"""`@tool`: how a Python function becomes a tool."""

from __future__ import annotations

import functools
import inspect
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, ParamSpec, TypeVar, cast, overload

from errands_config.errors import ConfigError
from errands_config.queue_name import fault_of_queue
from errands_workers.schema import ToolSchema, schema_of

P = ParamSpec("P")
R = TypeVar("R")

TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_OPTIONS = ("queue", "timeout", "retries", "rerun_on_restart", "cancellable", "cooperative", "redact")
_COUNTS = ("retries", "rerun_on_restart")
_SWITCHES = ("cancellable", "cooperative")


@dataclass(frozen=True, slots=True)
class ToolOptions:
    """What an author says about a tool beside its code."""

    queue: str = "default"
    timeout: float | None = None
    """Seconds; the policy of an agent may only shorten it."""
    retries: int = 0
    """How often a call that failed or timed out is tried again at once, where no policy names retries of its own."""
    rerun_on_restart: int = 0
    """How often a call may be started again from the beginning when its worker is lost."""
    cancellable: bool = True
    cooperative: bool = False
    """It looks at `ctx.cancelled` often, so it need not be interrupted, and may run in a thread beside others."""
    redact: tuple[str, ...] = ()
    """Arguments whose values are not shown to those who decide about a deferred call."""


class Tool(Generic[P, R]):
    """A function that workers offer. Calling it calls the function itself."""

    def __init__(self, function: Callable[P, R], options: ToolOptions) -> None:
        self.function = function
        self.options = options
        self.name = function.__name__
        self.is_async = inspect.iscoroutinefunction(function)
        functools.update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function itself, without a worker."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<tool {self.function.__module__}.{self.name}>"

    @functools.cached_property
    def schema(self) -> ToolSchema:
        """What a model sees; ConfigError if the function's signature cannot be put as a JSON schema."""
        return schema_of(self.function)


@overload
def tool(function: Callable[P, R], /) -> Tool[P, R]: ...
@overload
def tool(
    *,
    queue: str = "default",
    timeout: float | None = None,
    retries: int = 0,
    rerun_on_restart: int = 0,
    cancellable: bool = True,
    cooperative: bool = False,
    redact: tuple[str, ...] = (),
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...
def tool(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Offer a function as a tool: `@tool`, or `@tool(queue="gpu", timeout=60)`.

    The schema comes from type hints and docstring (Google, NumPy or Sphinx style); a parameter annotated `ToolContext`
    is filled in and not part of it. A `str` that is returned is the result as it is, anything else becomes JSON; an
    exception is a failed call. Sync tools run one at a time in their process's main thread, async tools on its one
    event loop. What a call leaves running, processes and asyncio tasks, ends with it.

    `queue`: which workers run it; `timeout`: most seconds of one call; `retries=2`: a call that failed is tried again
    at once, at most so often, unless the agent's policy names retries of its own; `rerun_on_restart=2`: running it
    again from the beginning does no harm, so a call whose worker is lost is started again, at most so often;
    `cancellable=False`: a call of it cannot be stopped by asking; `cooperative=True`: the function stops by itself when
    `ctx.cancelled` says so, is never interrupted, and bears to run in one process with other calls, so that
    `--pool threads` serves it as well. A sync one is to look every few seconds, by `ctx.cancelled`,
    `ctx.raise_if_cancelled()` or `ctx.sleep(...)`; an async one is stopped through its task. `redact=("password",)`:
    arguments whose values are hidden from those who decide about a call that was deferred.
    Raises ConfigError for an option or a name that cannot be used.
    """
    if function is not None:
        return _made(function, ToolOptions())
    return functools.partial(_made, options=_checked(options))


def _made(function: Any, options: ToolOptions) -> Tool[..., Any]:
    if not inspect.isfunction(function):
        raise ConfigError(f"@tool stands before a plain function, not before {type(function).__name__}")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise ConfigError(f"tool {function.__qualname__}: a generator has no one result; return a value")
    if not TOOL_NAME.fullmatch(function.__name__):
        raise ConfigError(f"tool {function.__name__}: a name of 1 to 64 letters, digits, _ or - is expected")
    if strangers := [name for name in options.redact if name not in inspect.signature(function).parameters]:
        raise ConfigError(f"tool {function.__name__} has no parameter {', '.join(strangers)}", path="@tool(redact)")
    return Tool(function, options)


def _checked(options: dict[str, Any]) -> ToolOptions:
    for name in options:
        if name not in _OPTIONS:
            raise ConfigError(f"no such option; known are {', '.join(_OPTIONS)}", path=f"@tool({name})")
    made = ToolOptions(**options)
    for name, fault in _faults(made):
        if fault:
            raise ConfigError(fault, path=f"@tool({name})")
    return made


def _faults(made: ToolOptions) -> Iterator[tuple[str, str]]:
    """Each option and what is wrong with it. Authors need no type checker, so nothing is taken for granted."""
    queue: Any = made.queue
    yield "queue", fault_of_queue(queue if isinstance(queue, str) else "")
    fits = made.timeout is None or (made.timeout > 0 and math.isfinite(made.timeout))
    yield "timeout", "" if fits else "a number of seconds above 0 is expected"
    for name in _COUNTS:
        fits = type(getattr(made, name)) is int and getattr(made, name) >= 0
        yield name, "" if fits else "a number of times, 0 or more, is expected"
    for name in _SWITCHES:
        yield name, "" if isinstance(getattr(made, name), bool) else "True or False is expected"
    redact: Any = made.redact
    fits = isinstance(redact, tuple) and all(isinstance(name, str) for name in cast("tuple[Any, ...]", redact))
    yield "redact", "" if fits else 'a tuple of arguments is expected: redact=("password",)'
