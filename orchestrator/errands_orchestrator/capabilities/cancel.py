"""`cancel-tool-call`: asks for the end of a call and says the true state. A stop is a request."""

from __future__ import annotations

from errands_config.scripts.calls import CancelAnswer
from errands_config.wire import CallState
from errands_orchestrator.arrivals import Answered, Begun
from errands_orchestrator.calls import call_row, cancel_call, resolve
from errands_orchestrator.capabilities.desk import NOT_FOUND, Desk
from errands_orchestrator.texts import word

CONFIRM_MS = 10_000
"""How long the answer waits for the worker to confirm."""
CANNOT_BE_STOPPED = "this tool call cannot be stopped"


async def begin(desk: Desk) -> Begun:
    """Write the wish; a running call is then waited for."""
    cid = await resolve(desk.store, desk.session, desk.named())
    asked = await _ask(desk, cid) if cid else None
    if cid is None or asked is None or asked.outcome != "asked":
        return Begun(desk.call.id)
    return Begun(desk.call.id, (cid,), wait_until=desk.now + CONFIRM_MS)


async def answer(desk: Desk) -> Answered:
    """Ask again under the same name, which changes nothing and tells what became of it."""
    cid = await resolve(desk.store, desk.session, desk.named())
    if cid is None:
        return desk.says({"error": NOT_FOUND})
    asked = await _ask(desk, cid)
    if asked is None:
        return await _refusal(desk, cid)
    cancelled = asked.outcome == "cancelled"
    said = _said(desk, cancelled, CallState(asked.previous), CallState(asked.state))
    if asked.outcome == "asked":
        said["cancel_requested"] = True
    return desk.says(said, stopped=(cid,) if cancelled else ())


async def _ask(desk: Desk, cid: str) -> CancelAnswer | None:
    """What asking met; None: the tool is one that cannot be stopped, and nothing was asked."""
    row = await call_row(desk.store, cid)
    if row and not row.cancellable:
        return None
    reason = str(desk.arguments.get("reason") or "cancelled by the model")
    return await cancel_call(desk.store, cid, by="model", reason=reason, asker=desk.call.id, nudge=desk.nudge)


async def _refusal(desk: Desk, cid: str) -> Answered:
    row = await call_row(desk.store, cid)
    if row is None:
        return desk.says({"error": NOT_FOUND})
    said = _said(desk, False, row.state, row.state)
    return desk.says(said if row.state.is_final else said | {"message": CANNOT_BE_STOPPED})


def _said(desk: Desk, cancelled: bool, previous: CallState, state: CallState) -> dict[str, object]:
    return {
        "tool_call_id": desk.named(),
        "cancelled": cancelled,
        "previous_status": word(previous),
        "status": word(state),
    }
