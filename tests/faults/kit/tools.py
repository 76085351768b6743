"""The functions among the tools of a fault run; like the scripts they append to the file of effects."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path

from tests.faults.kit.effects import EFFECTS_VARIABLE

from errands_workers import ToolContext, tool


def _mark(word: str, ctx: ToolContext) -> None:
    file = os.open(os.environ[EFFECTS_VARIABLE], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(file, f"{word} {ctx.call_id} {ctx.attempt}\n".encode())
    finally:
        os.close(file)


def _work(key: str, seconds: float, ctx: ToolContext) -> str:
    _mark("start", ctx)
    time.sleep(seconds)
    _mark("end", ctx)
    return f"effect {key} of attempt {ctx.attempt}"


def _fails(ctx: ToolContext) -> bool:
    """Whether this is the first try of its attempt."""
    line = f"start {ctx.call_id} {ctx.attempt}"
    return Path(os.environ[EFFECTS_VARIABLE]).read_text().splitlines().count(line) == 1


@tool(queue="python")
def py_once(key: str, seconds: float, ctx: ToolContext) -> str:
    """Leave a mark. It must not be started twice."""
    return _work(key, seconds, ctx)


@tool(queue="python")
def py_again(key: str, seconds: float, ctx: ToolContext) -> str:
    """Leave a mark. It may be started again."""
    return _work(key, seconds, ctx)


@tool(queue="python")
def py_step_once(key: str, seconds: float, ctx: ToolContext) -> str:
    """Leave a mark while the step waits."""
    return _work(key, seconds, ctx)


@tool(queue="python")
def py_poison_again(key: str, seconds: float, ctx: ToolContext) -> str:
    """Kill the process that runs this. It may be started again."""
    _mark("start", ctx)
    os.kill(os.getpid(), signal.SIGKILL)
    return key


@tool(queue="python")
async def py_step_again(key: str, seconds: float, ctx: ToolContext) -> str:
    """Leave a mark while the step waits, on the event loop."""
    _mark("start", ctx)
    await asyncio.sleep(seconds)
    _mark("end", ctx)
    return f"effect {key} of attempt {ctx.attempt}"


@tool(queue="python")
def py_asked_again(key: str, seconds: float, ctx: ToolContext) -> str:
    """Leave a mark, if somebody gives leave."""
    return _work(key, seconds, ctx)


@tool(queue="python")
def py_gated_once(key: str, seconds: float, ctx: ToolContext) -> str:
    """Leave a mark, if a hook lets it."""
    return _work(key, seconds, ctx)


@tool(queue="python")
def py_later_once(key: str, seconds: float, ctx: ToolContext) -> str:
    """Begin, and leave the rest to somebody outside."""
    _mark("start", ctx)
    ctx.sleep(seconds)
    ctx.defer("the clerk goes on with it")


@tool(queue="python")
async def py_later_again(key: str, seconds: float, ctx: ToolContext) -> str:
    """Begin on the event loop, and leave the rest to somebody outside."""
    _mark("start", ctx)
    await asyncio.sleep(seconds)
    ctx.defer("the clerk goes on with it")


@tool(queue="python")
def py_flaky_once(key: str, seconds: float, ctx: ToolContext) -> str:
    """Fail first, then leave a mark."""
    _mark("start", ctx)
    time.sleep(seconds)
    if _fails(ctx):
        raise RuntimeError("the first try fails")
    _mark("end", ctx)
    return f"effect {key} of attempt {ctx.attempt}"
