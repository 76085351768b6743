"""The functions that `bench.pools` stops: some heed their stop, some do not, some cannot.

Each says that it runs, so that none is stopped before it does what it is about. With `BENCH_POOL=threads` all of
them claim to be cooperative, for only then does a threads worker run them.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from contextlib import suppress

from errands_workers import ToolContext
from errands_workers.tool import tool

THREADS = os.environ.get("BENCH_POOL") == "threads"
READY = "ready"


@tool(cooperative=True)
def cooperative(ctx: ToolContext) -> None:
    """Wait as the context offers it."""
    ctx.progress(READY)
    ctx.sleep(300)


@tool(cooperative=THREADS)
def sleeps(ctx: ToolContext) -> None:
    """Wait in plain Python."""
    ctx.progress(READY)
    time.sleep(60)


@tool(cooperative=THREADS)
def goes_on(ctx: ToolContext) -> None:
    """Go on after each error, for a minute."""
    ctx.progress(READY)
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with suppress(Exception):
            time.sleep(0.01)


@tool(cooperative=THREADS)
def computes(ctx: ToolContext) -> None:
    """Compute in C, without the interpreter's lock, for a minute at most."""
    ctx.progress(READY)
    hashlib.pbkdf2_hmac("sha256", b"a", b"b", 60_000_000)


@tool(cooperative=THREADS)
def holds(ctx: ToolContext) -> None:
    """Compute in C, and hold the interpreter's lock."""
    ctx.progress(READY)
    time.sleep(0.3)  # lets the news out
    _ = 7 ** (10**8)


@tool(cooperative=THREADS)
async def waits(ctx: ToolContext) -> None:
    """Wait on the event loop."""
    ctx.progress(READY)
    await asyncio.sleep(300)


@tool(cooperative=True)
def moment(ctx: ToolContext) -> str:
    """Take a slot for a moment."""
    ctx.sleep(0.5)
    return "done"
