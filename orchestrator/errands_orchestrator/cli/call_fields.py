"""A call as lists show it."""

from __future__ import annotations

from errands_orchestrator.calls import CallRow
from errands_orchestrator.capabilities.desk import when
from errands_orchestrator.cli.output import Row

COLUMNS = ("tool_call_id", "tool", "status", "attempt", "worker", "queued_at", "started_at", "completed_at")
"""What of it a table has."""


def call_fields(row: CallRow) -> Row:
    """Its row; what is not known, or has not happened, is null."""
    return {
        "tool_call_id": row.id,
        "provider_call_id": row.provider_id or None,
        "task_handle": row.handle or None,
        "session_id": row.session,
        "tool": row.tool,
        "status": str(row.state),
        "attempt": row.attempt,
        "label": row.label or None,
        "worker": row.worker or None,
        "queued_at": when(row.queued_at),
        "started_at": when(row.started_at),
        "completed_at": when(row.ended_at),
    }
