"""`cancel-tool-call`: asks for the end of a call and says the true state. A stop is a request."""

from __future__ import annotations

from errands_config.scripts.calls import CancelAnswer
from errands_config.wire import CallState
from errands_orchestrator.arrivals import Answered, Begun
from errands_orchestrator.calls import cancel_call, resolve
from errands_orchestrator.capabilities.desk import NOT_FOUND, Desk, word

CONFIRM_MS = 10_000
"""How long the answer waits for the worker to confirm."""


async def begin(desk: Desk) -> Begun:
    """Write the wish; a running call is then waited for."""
    cid = await resolve(desk.store, desk.session, desk.named())
    if cid is None or (await _ask(desk, cid)).outcome != "asked":
        return Begun(desk.call.id)
    return Begun(desk.call.id, (cid,), wait_until=desk.now + CONFIRM_MS)


async def answer(desk: Desk) -> Answered:
    """Ask again under the same name, which changes nothing and tells what became of it."""
    cid = await resolve(desk.store, desk.session, desk.named())
    if cid is None:
        return desk.says({"error": NOT_FOUND})
    asked = await _ask(desk, cid)
    cancelled = asked.outcome == "cancelled"
    said: dict[str, object] = {
        "tool_call_id": desk.named(),
        "cancelled": cancelled,
        "previous_status": word(CallState(asked.previous)),
        "status": word(CallState(asked.state)),
    }
    if asked.outcome == "asked":
        said["cancel_requested"] = True
    return desk.says(said, stopped=(cid,) if cancelled else ())


async def _ask(desk: Desk, cid: str) -> CancelAnswer:
    reason = str(desk.arguments.get("reason") or "cancelled by the model")
    return await cancel_call(desk.store, cid, by="model", reason=reason, asker=desk.call.id, nudge=desk.nudge)
