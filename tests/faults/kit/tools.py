"""The functions among the tools of a fault run; like the scripts they append to the file of effects."""

from __future__ import annotations

import asyncio
import os
import signal
import time

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
