"""Looking up how open calls stand, for the digest."""

from __future__ import annotations

from collections.abc import Sequence

from errands_config import keys
from errands_orchestrator import reads
from errands_orchestrator.arrivals import Surveyed
from errands_orchestrator.calls import CallRow, call_rows, progress_of
from errands_orchestrator.capabilities.desk import when
from errands_orchestrator.capabilities.offers import ASK_USER
from errands_orchestrator.digest import Outstanding
from errands_orchestrator.progress import in_short
from errands_orchestrator.questions import Question


async def surveyed(store: reads.Store, calls: Sequence[str]) -> Surveyed:
    """States, newest progress and questions of these calls, in this order."""
    rows = await call_rows(store, calls, ends=False)
    return Surveyed(tuple([await _outstanding(store, row) for row in rows]))


async def _outstanding(store: reads.Store, row: CallRow) -> Outstanding:
    newest = await progress_of(store, row.id, 1)
    return Outstanding(
        row.id,
        row.state,
        started=when(row.started_at) or "",
        progress=in_short(newest[0].payload) if newest else "",
        question=await _question(store, row) if row.tool == ASK_USER else "",
    )


async def _question(store: reads.Store, row: CallRow) -> str:
    arguments = await reads.field(store, keys.call(row.id), "arguments")
    return Question.of(arguments).in_short if arguments else ""
