"""Asking for the end of calls, as a person does it, and waiting for it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from errands_config import keys
from errands_config.errors import Conflict
from errands_config.scripts.calls import CancelAnswer
from errands_config.store import broker_url
from errands_config.wire import CallState
from errands_orchestrator import reads
from errands_orchestrator.calls import cancel_call
from errands_orchestrator.cli.connecting import Reached
from errands_orchestrator.cli.finding import existing_calls
from errands_orchestrator.cli.output import Row

CONFIRM_SECONDS = 10.0
"""Longest wait for workers to end calls."""
AT_ONCE = 50
"""Wishes that are on their way at the same time: fewer than a client has connections."""
_LOOK_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Told:
    """What became of one wish."""

    cid: str
    previous: str
    """The call's state when it was asked."""
    state: CallState
    accepted: bool
    """False: the call had ended before."""

    @property
    def row(self) -> Row:
        """As it is printed. `cancelled` is false when the call ended by itself, or when its worker has not ended it."""
        row: Row = {
            "tool_call_id": self.cid,
            "cancelled": self.accepted and self.state is CallState.CANCELLED,
            "previous_status": self.previous,
            "status": str(self.state),
        }
        return row if self.state.is_final else {**row, "cancel_requested": True}


async def cancelled(store: reads.Store, there: Reached, cid: str, reason: str) -> Row:
    """Ask for the end of one call; answers what became of it within `CONFIRM_SECONDS`.

    Raises NotFound, and Conflict if it had ended.
    """
    [told] = await all_cancelled(store, there, [cid], reason)
    if not told.accepted:
        raise Conflict(f"call {cid} had already ended: {told.state}")
    return told.row


async def all_cancelled(store: reads.Store, there: Reached, cids: Sequence[str], reason: str) -> list[Told]:
    """Ask for the end of calls; answers what became of each within `CONFIRM_SECONDS`.

    Raises NotFound before it asks for anything.
    """
    answers = {row.id: CancelAnswer("unknown") for row in await existing_calls(store, cids)}
    for some in _parts(list(answers), AT_ONCE):
        asked = [cancel_call(store, cid, by="user", reason=reason) for cid in some]
        answers |= dict(zip(some, await asyncio.gather(*asked), strict=True))
    running = [cid for cid, answer in answers.items() if answer.outcome == "asked"]
    if running:
        await _nudged(there, running)
        await _ended(store, running)
    rows = {row.id: row for row in await existing_calls(store, cids)}
    return [
        Told(cid, answer.previous, rows[cid].state, accepted=answer.outcome != "final")
        for cid, answer in answers.items()
    ]


async def _nudged(there: Reached, cids: Sequence[str]) -> None:
    from errands_orchestrator.dispatcher import Dispatcher  # imported here: Celery takes most of a second

    dispatcher = Dispatcher(broker_url(there.settings))
    try:
        await dispatcher.nudge(cids)
    finally:
        dispatcher.close()


async def _ended(store: reads.Store, cids: Sequence[str]) -> None:
    """Wait for the ends of calls, but not longer than `CONFIRM_SECONDS`."""
    give_up = time.monotonic() + CONFIRM_SECONDS
    while cids and time.monotonic() < give_up:
        states = await reads.field_of_each(store, [keys.call(cid) for cid in cids], "state")
        cids = [cid for cid, state in zip(cids, states, strict=True) if state and not CallState(state).is_final]
        await asyncio.sleep(_LOOK_SECONDS if cids else 0)


def _parts(cids: list[str], size: int) -> Iterator[list[str]]:
    return (cids[at : at + size] for at in range(0, len(cids), size))
