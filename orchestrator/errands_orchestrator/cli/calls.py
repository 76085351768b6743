"""`errands calls`: list, show, follow and cancel tool calls."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

import orjson
from cyclopts import App, Parameter

from errands_config import keys
from errands_orchestrator import reads
from errands_orchestrator.calls import CallRow, ProgressEntry, progress_of
from errands_orchestrator.capabilities.desk import when
from errands_orchestrator.cli.cancelling import cancelled
from errands_orchestrator.cli.connecting import Reached, with_store
from errands_orchestrator.cli.finding import existing_call, newest_calls
from errands_orchestrator.cli.following import events_after, present
from errands_orchestrator.cli.output import AsJson, Limit, Row, print_facts, print_json, print_rows, print_text
from errands_orchestrator.cli.progress import in_short

call_commands = App(name="calls", help="List, show, follow and cancel tool calls.", version_flags=[])

COLUMNS = ("tool_call_id", "tool", "status", "attempt", "worker", "queued_at", "started_at", "completed_at")


@call_commands.command
def ls(
    *,
    session: Annotated[str | None, Parameter(help="Only the calls of this session.")] = None,
    limit: Limit = 50,
    as_json: AsJson = False,
) -> None:
    """List calls, newest first."""
    rows = with_store(lambda store, _: newest_calls(store, session, limit))
    print_rows([call_fields(row) for row in rows], COLUMNS, as_json=as_json, nothing="no calls")


def call_fields(row: CallRow) -> Row:
    """A call as lists show it."""
    return {
        "tool_call_id": row.id,
        "provider_call_id": row.provider_id or None,
        "task_handle": None,
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


@call_commands.command
def show(call: str, /, *, as_json: AsJson = False) -> None:
    """Show one call with its policy, its arguments and its result."""
    print_facts(with_store(lambda store, _: _whole(store, call)), as_json=as_json)


async def _whole(store: reads.Store, cid: str) -> Row:
    row = await existing_call(store, cid)
    policy, arguments = await reads.fields(store, keys.call(cid), ("policy", "arguments"))
    ended = row.outcome.model_dump(exclude={"state"}, exclude_defaults=True) if row.outcome else {}
    kept = {"queue": row.queue, "policy": orjson.loads(policy or "{}"), "arguments": orjson.loads(arguments or "{}")}
    return {**call_fields(row), **kept, **ended}


@call_commands.command
def logs(
    call: str,
    /,
    *,
    follow: Annotated[bool, Parameter(name=("--follow", "-f"), negative="", help="Go on until the call ends.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print the progress that a call reported, oldest first; with --json whole, a line each. The newest 50 are kept."""

    async def work(store: reads.Store, there: Reached) -> None:
        async for entry in _reports(store, there, call, follow):
            if as_json:
                print_json({"at": when(entry.at), "payload": orjson.loads(entry.payload)})
            elif news := in_short(entry.payload):
                print_text(f"{when(entry.at)}  {news}")

    with_store(work)


async def _reports(store: reads.Store, there: Reached, cid: str, follow: bool) -> AsyncIterator[ProgressEntry]:
    """Each report once. With `follow` also those to come, until the call has ended."""
    row = await existing_call(store, cid)
    since = (await present(store, row.session)).event
    seen: set[str] = set()
    for entry in await _unseen(store, cid, seen):
        yield entry
    if not follow or (await existing_call(store, cid)).state.is_final:
        return
    async for event in events_after(there, row.session, since):
        if event.facts.get("tool_call_id") == cid:
            for entry in await _unseen(store, cid, seen):
                yield entry
        if event.ends(cid):
            return


async def _unseen(store: reads.Store, cid: str, seen: set[str]) -> list[ProgressEntry]:
    fresh = [entry for entry in reversed(await progress_of(store, cid)) if entry.seq not in seen]
    seen.update(entry.seq for entry in fresh)
    return fresh


@call_commands.command
def cancel(
    call: str,
    /,
    *,
    reason: Annotated[str, Parameter(help="Why; it is kept with the call.")] = "cancelled from the command line",
    as_json: AsJson = False,
) -> None:
    """Ask for the end of a call and wait up to 10 s for it. Exit code 5 if it had ended before."""
    told = with_store(lambda store, there: cancelled(store, there, call, reason))
    print_facts(told, as_json=as_json)
