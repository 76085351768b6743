"""The functions of `functions.py` for a threads worker, and some that heed or ignore their stop in their own way."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from typing import Any

from tests.tools import functions

from errands_workers import ToolContext, tool
from errands_workers.tool import Tool

_SHARED: list[Tool[..., Any]] = [
    functions.add,
    functions.fake,
    functions.fake_async,
    functions.report,
    functions.sleep_in_context,
    functions.wait_a_moment,
]
globals().update({one.name: tool(cooperative=True)(one.function) for one in _SHARED})

open_gates = threading.Event()
"""Ends whatever `stuck` still runs."""


@tool
def not_for_threads() -> str:
    """Be served by processes only."""
    return "here"


@tool(cooperative=True)
def watch(ctx: ToolContext) -> str:
    """Look at the context all the time, and say in the end what was seen."""
    while not ctx.cancelled:
        time.sleep(0.002)
    return "tidied"


@tool(cooperative=True)
def tidy(ctx: ToolContext, path: str) -> str:
    """Tidy up after a stop, undisturbed."""
    while not ctx.cancelled:
        time.sleep(0.002)
    time.sleep(1.2)
    with open(path, "w") as file:
        file.write(ctx.call_id)
    return "tidied"


@tool(cooperative=True)
def stuck(mode: str) -> str:
    """Ignore every stop until `let_go` is called."""
    if mode == "python":
        open_gates.wait()
    elif mode == "except":
        while not open_gates.is_set():
            try:
                time.sleep(0.01)
            except BaseException:
                continue
    return "late"


@tool(cooperative=True)
async def stuck_async() -> str:
    """Swallow every cancel until `let_go` is called."""
    while not open_gates.is_set():
        try:
            await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            continue
    return "late"


@tool(cooperative=True)
def let_go() -> str:
    """Let what is stuck return."""
    open_gates.set()
    return "open"


@tool(cooperative=True)
def until_told_to_leave(ctx: ToolContext) -> str:
    """Work until the worker is to go, and then a moment longer."""
    ctx.progress("working")
    while not ctx.stopping:
        ctx.sleep(0.02)
    ctx.sleep(0.2)
    return "put away"


@tool(cooperative=True)
def with_process(ctx: ToolContext) -> str:
    """Begin a process in this thread, and wait for the stop."""
    subprocess.Popen(["sh", "-c", "trap '' TERM; sleep 1000 & sleep 1000"])
    ctx.progress(begun=True)
    ctx.sleep(1000)
    return ""


@tool(cooperative=True)
def exit_code(duration: float) -> int:
    """Run a process to its end; its exit code must reach the one who waits for it."""
    return subprocess.run(
        [sys.executable, "-c", f"import time; time.sleep({duration}); exit(7)"], check=False
    ).returncode


@tool(cooperative=True)
def where() -> list[int]:
    """Say which process and which thread this is."""
    return [os.getpid(), threading.get_native_id()]


@tool(cooperative=True)
def hold_the_interpreter(duration: float) -> str:
    """Let no other thread run."""
    until = time.monotonic() + duration
    while time.monotonic() < until:
        sum(range(10_000_000))
    return "done"


@tool(cooperative=True)
def echo_text(text: str) -> str:
    """Give a text back."""
    return text
