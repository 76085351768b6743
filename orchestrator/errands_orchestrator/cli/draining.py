"""The end of a worker of our own while calls run on it: they get their time, and a person hears what became of them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from errands_config.wire import CallState
from errands_orchestrator import reads
from errands_orchestrator.calls import CallRow, call_rows
from errands_orchestrator.cli.board import BoardCall
from errands_orchestrator.cli.interrupts import Interrupts
from errands_orchestrator.cli.output import say
from errands_orchestrator.cli.own_worker import Process, calls_on

LONGEST_SECONDS = 40.0
"""A worker gives its calls 25 s, and what does not end then some more to be killed and settled."""
CALM_SECONDS = 1.0
"""In which a Ctrl-C means what came before: who leaves presses it twice, and the first may have been enough."""
_LOOK_SECONDS = 0.05


async def drained(store: reads.Store, worker: Process, pressed: Interrupts) -> None:
    """Tell a worker of ours to go, wait for it, and say which of its calls ended, were given back or are lost.

    A further Ctrl-C ends the calls at once.
    """
    cids = await calls_on(store, worker)
    worker.terminate()
    if not cids:
        return
    say(f"calls that still run: {_named(await call_rows(store, cids, ends=False))}")
    say("their worker gives them some seconds to end; press Ctrl-C to end them now")
    await _gone(worker, pressed)
    for row in await call_rows(store, cids, ends=False):
        say(fate(row))


async def _gone(worker: Process, pressed: Interrupts) -> None:
    ending = asyncio.create_task(_ended(worker))
    await asyncio.wait((ending,), timeout=CALM_SECONDS)
    hurrying = asyncio.create_task(pressed.another())
    await asyncio.wait((ending, hurrying), return_when=asyncio.FIRST_COMPLETED)
    hurrying.cancel()
    if not ending.done():
        worker.terminate()
    await ending


async def _ended(worker: Process) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(LONGEST_SECONDS):
            while True:
                if worker.poll() is not None:
                    return
                await asyncio.sleep(_LOOK_SECONDS)


def _named(rows: Sequence[CallRow]) -> str:
    return ", ".join(f"{row.tool} ({row.provider_id})" for row in rows)


def fate(row: CallRow) -> str:
    """What became of a call whose worker has gone, in a line."""
    line = BoardCall(row.id, row.provider_id, row.tool, row.state).line
    match row.state:
        case CallState.ORPHANED:
            return f"{line}: it is lost with its worker"
        case CallState.WAITING | CallState.QUEUED:
            return f"{line}: given back, the next worker takes it"
        case CallState.RUNNING:
            return f"{line}: its worker has not ended; it is settled when it does"
        case _:
            return line
