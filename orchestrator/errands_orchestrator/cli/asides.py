"""What a person can ask about the calls of a run that goes on, beside talking to its agent."""

from __future__ import annotations

from errands_config.errors import Conflict
from errands_orchestrator import reads
from errands_orchestrator.call_search import OPEN, Wanted, wanted_calls
from errands_orchestrator.calls import resolve
from errands_orchestrator.cli.board import BoardCall
from errands_orchestrator.cli.cancelling import cancelled
from errands_orchestrator.cli.connecting import Reached
from errands_orchestrator.cli.standing import snapshot_of

SHOWN_CALLS = 100
"""Most calls that are listed: the newest."""


async def running_calls(store: reads.Store, sid: str) -> str:
    """A line for each call that has not ended, with our id."""
    rows = await wanted_calls(store, Wanted(OPEN, session=sid), SHOWN_CALLS)
    lines = (f"  {BoardCall(row.id, row.provider_id, row.tool, row.state).line}  {row.id}" for row in reversed(rows))
    return "\n".join(lines) or "  no call runs"


async def call_named(store: reads.Store, sid: str, name: str) -> str | None:
    """Our id of the call that a person means by our id or the provider's; None if there is none in this session."""
    session, _ = await snapshot_of(store, sid)
    return await resolve(store, session, name)


async def ended(store: reads.Store, there: Reached, cid: str, name: str) -> str:
    """Ask for the end of a call and wait for it; answers what the board will not show. `name`: as it was asked for."""
    try:
        told = await cancelled(store, there, cid, "cancelled by its person")
    except Conflict:
        return f"{name} had already ended"
    if "cancel_requested" in told:
        return f"{name} was asked to end and has not ended yet"
    return "" if told["cancelled"] else f"{name} ended by itself first"
