"""Calls and sessions as a command line names them."""

from __future__ import annotations

from errands_config import keys
from errands_config.errors import NotFound
from errands_orchestrator import reads, sessions
from errands_orchestrator.calls import CallRow, call_row, call_rows


async def existing_call(store: reads.Store, cid: str) -> CallRow:
    """A call's record. Raises NotFound."""
    row = await call_row(store, cid)
    if row is None:
        raise NotFound(f"no call {cid!r}: `errands calls ls` lists them")
    return row


async def newest_calls(store: reads.Store, sid: str | None, limit: int) -> list[CallRow]:
    """The newest calls of a session, or of all. Raises NotFound for an unknown session."""
    if sid is not None:
        await sessions.status_of(store, sid)
    sids = [sid] if sid else await reads.ranked(store, keys.SESSIONS, newest_first=True)
    cids: list[str] = []
    for one in sids:
        cids += await sessions.call_ids(store, one)
    # ids begin with their time
    return list(await call_rows(store, sorted(cids, reverse=True)[:limit]))
