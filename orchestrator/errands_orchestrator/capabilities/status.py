"""`get-tool-call-status`: one call's state, result and progress, with an optional wait."""

from __future__ import annotations

import orjson

from errands_config.wire import CallState
from errands_orchestrator.arrivals import Answered, Begun
from errands_orchestrator.calls import CallRow, ProgressEntry, call_row, place_in_line, progress_of, resolve
from errands_orchestrator.capabilities.desk import NOT_FOUND, Desk, when
from errands_orchestrator.session import Reads
from errands_orchestrator.texts import end_text, word

HELD_MS = 5_000
"""From the third read without news on, the answer waits that long for some."""
OWN_MESSAGE = "see its own tool message"
NOTHING_NEW = "Nothing new since you last asked. The result will be delivered by itself; there is no need to ask again."


async def begin(desk: Desk) -> Begun:
    """Decide what to wait for: the end, if asked for it; some news, if the model asks again and again."""
    cid = await resolve(desk.store, desk.session, desk.named())
    row = await call_row(desk.store, cid) if cid else None
    if row is None or row.state.is_final:
        return Begun(desk.call.id)
    if desk.arguments.get("wait_for_completion"):
        seconds = min(max(float(str(desk.arguments.get("timeout_seconds", 5))), 0), 300)
        return Begun(desk.call.id, (row.id,), wait_until=desk.now + int(seconds * 1000))
    reads = _reads(desk, row.id)
    if reads and reads.count >= 2 and reads.mark == _mark(row, await progress_of(desk.store, row.id, 1)):
        return Begun(desk.call.id, (row.id,), wait_until=desk.now + HELD_MS)
    return Begun(desk.call.id)


async def answer(desk: Desk) -> Answered:
    """Say what stands in the record now."""
    cid = await resolve(desk.store, desk.session, desk.named())
    row = await call_row(desk.store, cid) if cid else None
    if row is None:
        return desk.says({"error": NOT_FOUND})
    progress = await progress_of(desk.store, row.id)
    seen = _seen(desk, row, progress)
    said = _report(desk, row, progress) | _notes(desk, row, seen) | await _in_line(desk, row)
    read = (row.id,) if row.state.is_final and said["result"] != OWN_MESSAGE else ()
    return desk.says(said, read=read, seen=seen)


def _report(desk: Desk, row: CallRow, progress: list[ProgressEntry]) -> dict[str, object]:
    report: dict[str, object] = {
        "tool_call_id": row.provider_id or row.id,
        **({"task_handle": row.handle} if row.handle else {}),
        "status": word(row.state),
        "tool_name": row.tool,
        "started_at": when(row.started_at),
        "completed_at": when(row.ended_at),
        "result": _result(desk, row),
        "is_final": row.state.is_final,
    }
    if desk.arguments.get("include_progress", True):
        report["progress"] = [orjson.loads(entry.payload) for entry in progress]
    return report


def _result(desk: Desk, row: CallRow) -> str | None:
    if row.outcome is None:
        return None
    own_turn = row.id in desk.session.answered_here
    return OWN_MESSAGE if own_turn else end_text(row.outcome, desk.max_bytes, readable=desk.brief.reads_results)


def _notes(desk: Desk, row: CallRow, seen: Reads) -> dict[str, object]:
    if desk.call.woken_by:
        return {"woken_by": desk.call.woken_by}
    return {"note": NOTHING_NEW} if seen.count > 2 and row.state is not CallState.DEFERRED else {}


async def _in_line(desk: Desk, row: CallRow) -> dict[str, object]:
    """Why it does not run although workers are there."""
    place = await place_in_line(desk.store, row)
    return {"waiting_for": {"shared_limit": row.limit, "place": place}} if place else {}


def _reads(desk: Desk, cid: str) -> Reads | None:
    return next((reads for reads in desk.session.reads if reads.call == cid), None)


def _mark(row: CallRow, progress: list[ProgressEntry]) -> str:
    return f"{row.state}:{progress[0].seq if progress else ''}"


def _seen(desk: Desk, row: CallRow, progress: list[ProgressEntry]) -> Reads:
    before, mark = _reads(desk, row.id), _mark(row, progress)
    same = before is not None and before.mark == mark and not row.state.is_final
    return Reads(row.id, mark, before.count + 1 if before and same else 1)
