"""`list-running-tool-calls`: every call of the session that is not final."""

from __future__ import annotations

import orjson

from errands_orchestrator.arrivals import Answered, Begun
from errands_orchestrator.calls import CallRow, call_rows, progress_of
from errands_orchestrator.capabilities.desk import Desk, when
from errands_orchestrator.texts import word


async def begin(desk: Desk) -> Begun:
    """There is nothing to wait for."""
    return Begun(desk.call.id)


async def answer(desk: Desk) -> Answered:
    """List them as their records say, oldest first."""
    open_calls = [call.id for call in desk.session.calls if not call.is_final]
    rows = await call_rows(desk.store, open_calls)
    return desk.says({"running": [await _line(desk, row) for row in rows if not row.state.is_final]})


async def _line(desk: Desk, row: CallRow) -> dict[str, object]:
    newest = await progress_of(desk.store, row.id, 1)
    return {
        "tool_call_id": row.provider_id or row.id,
        **({"task_handle": row.handle} if row.handle else {}),
        "tool_name": row.tool,
        "status": word(row.state),
        "started_at": when(row.started_at),
        "progress": orjson.loads(newest[0].payload) if newest else None,
        "cancellable": row.cancellable,
    }
