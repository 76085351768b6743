"""Asking for the end of a call, as a person does it, and waiting for it."""

from __future__ import annotations

from errands_config.errors import Conflict
from errands_config.store import broker_url
from errands_orchestrator import reads
from errands_orchestrator.calls import cancel_call
from errands_orchestrator.cli.connecting import Reached
from errands_orchestrator.cli.finding import existing_call
from errands_orchestrator.cli.following import events_after, present
from errands_orchestrator.cli.output import Row

CONFIRM_SECONDS = 10.0
"""Longest wait for a worker to end a call."""


async def cancelled(store: reads.Store, there: Reached, cid: str, reason: str) -> Row:
    """Ask for the end; answers what became of it within `CONFIRM_SECONDS`. Raises NotFound, and Conflict if it ended.

    `cancelled` is false when the call ended by itself meanwhile, or when its worker has not ended it yet:
    `cancel_requested`.
    """
    from errands_orchestrator.dispatcher import Dispatcher  # imported here: Celery takes most of a second

    row = await existing_call(store, cid)
    since = (await present(store, row.session)).event
    dispatcher = Dispatcher(broker_url(there.settings))
    try:
        answer = await cancel_call(store, cid, by="user", reason=reason, nudge=dispatcher.nudge)
    finally:
        dispatcher.close()
    if answer.outcome == "final":
        raise Conflict(f"call {cid} had already ended: {answer.state}")
    ended = answer.outcome == "cancelled" or await _end(there, row.session, cid, since)
    state = (await existing_call(store, cid)).state
    told: Row = {
        "tool_call_id": cid,
        "cancelled": state == "cancelled",
        "previous_status": answer.previous,
        "status": str(state),
    }
    return told if ended else {**told, "cancel_requested": True}


async def _end(there: Reached, sid: str, cid: str, since: str) -> bool:
    async for seen in events_after(there, sid, since, CONFIRM_SECONDS):
        if seen.ends(cid):
            return True
    return False
