"""Functions that the worker's tests serve: one fake for each of sync and async, with a mode for each behaviour."""

import asyncio
import hashlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from errands_workers import ToolContext, tool

kept: dict[str, Any] = {}


class UnpicklableError(Exception):
    def __init__(self, lock: object, detail: str) -> None:
        super().__init__(detail)
        self.lock = lock


class UnspeakableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class NoRepr:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


def stubborn() -> None:
    while True:
        with suppress(Exception):
            time.sleep(0.01)


def deaf() -> None:
    while True:
        with suppress(BaseException):
            time.sleep(0.01)


def holds_the_interpreter() -> bool:
    return 7 ** (10**8) > 0


def raises(error: BaseException) -> Callable[[], object]:
    def run() -> object:
        raise error

    return run


def secret_failure() -> object:
    raise ValueError("the secret is swordfish")


def begins_processes() -> str:
    subprocess.Popen(["sh", "-c", "trap '' TERM; setsid sleep 1000 & sleep 1000"])
    return "begun"


def fork_and_return() -> str:
    return "the copy" if os.fork() == 0 else "the original"


MODES: dict[str, Callable[[], object]] = {
    "fork": fork_and_return,
    "nothing": lambda: None,
    "set": lambda: {1},
    "nan": lambda: float("nan"),
    "bytes": lambda: b"\xff",
    "object": NoRepr,
    "surrogate": lambda: "a\ud800b",
    "large": lambda: "x" * 20_000_000,
    "large_json": lambda: ["x" * 20_000_000],
    "sleep": lambda: time.sleep(1000),
    "stubborn": stubborn,
    "deaf": deaf,
    "native": lambda: hashlib.pbkdf2_hmac("sha256", b"a", b"b", 10**9),
    "holds_the_interpreter": holds_the_interpreter,
    "processes": begins_processes,
    "waits_for_process": lambda: subprocess.run(["sh", "-c", "setsid sleep 1000 & sleep 1000"], check=False),
    "value_error": secret_failure,
    "no_text": raises(ValueError()),
    "system_exit": raises(SystemExit(0)),
    "interrupt": raises(KeyboardInterrupt()),
    "group": raises(BaseExceptionGroup("several", [ValueError("one"), KeyError("two")])),
    "unpicklable": raises(UnpicklableError(threading.Lock(), "a lock in it")),
    "unspeakable": raises(UnspeakableError()),
    "huge_error": raises(ValueError("x" * 5_000_000)),
    "suicide": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "pid": os.getpid,
}


@tool
def add(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: One of them.
        b: The other.
    """
    return a + b


@tool
def fake(mode: str) -> object:
    """Behave as told."""
    return MODES[mode]()


@tool
def wait_a_moment(duration: float) -> str:
    """Sleep in plain Python."""
    time.sleep(duration)
    return "slept"


@tool
def report(ctx: ToolContext, steps: int) -> str:
    """Report every step, and one thing for the model."""
    for step in range(steps):
        ctx.progress(done=step + 1, total=steps)
    ctx.notify("half \x1b[31mway")
    return f"{ctx.attempt} {0 < ctx.remaining <= 60} {ctx.call_id == ctx.idempotency_key}"


@tool
def print_lines(ctx: ToolContext, fails: bool) -> str:
    """Print two lines, and then fail or not."""
    ctx.output("one \x1b[31mred\nline")
    ctx.output("and another")
    if fails:
        raise ValueError("enough")
    return "printed"


@tool
def sleep_in_context(ctx: ToolContext) -> None:
    """Wait in the way that hears of a cancel."""
    ctx.sleep(1000)


async def swallow() -> None:
    while True:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(1000)


async def block() -> None:
    time.sleep(1000)  # noqa: ASYNC251 - this is the mistake that is tested


async def leave_task() -> str:
    async def later() -> None:
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            kept["left"] = "cancelled"
            raise

    kept["task"] = asyncio.create_task(later())
    await asyncio.sleep(0)
    return "left"


async def use_client() -> int:
    """A queue kept in the module: it belongs to the loop in which it was first waited for."""
    queue: asyncio.Queue[int] = kept.setdefault("queue", asyncio.Queue(1))
    asyncio.get_running_loop().call_later(0.001, queue.put_nowait, 1)
    return await queue.get()


async def look_for_left() -> object:
    return kept.get("left", "")


ASYNC_MODES: dict[str, Callable[[], Awaitable[object]]] = {
    "sleep": lambda: asyncio.sleep(1000),
    "swallow": swallow,
    "block": block,
    "leave_task": leave_task,
    "look_for_left": look_for_left,
    "client": use_client,
}


@tool
async def fake_async(mode: str) -> object:
    """Behave as told, on the event loop."""
    return await ASYNC_MODES[mode]()


@tool(timeout=0.3)
def hurried() -> None:
    """Take longer than it may."""
    time.sleep(1000)
