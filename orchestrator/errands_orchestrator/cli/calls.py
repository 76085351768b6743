"""`errands calls`: list, show, follow and cancel tool calls."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

import orjson
from cyclopts import App, Parameter

from errands_config import keys
from errands_config.wire import CallState, Outcome
from errands_orchestrator import reads
from errands_orchestrator.call_search import wanted_calls
from errands_orchestrator.calls import CallRow, ProgressEntry, place_in_line, progress_of
from errands_orchestrator.capabilities.desk import when
from errands_orchestrator.cli.call_fields import COLUMNS, call_fields
from errands_orchestrator.cli.cancel import cancel
from errands_orchestrator.cli.connecting import Reached, with_store
from errands_orchestrator.cli.finding import Filters, existing_call
from errands_orchestrator.cli.following import events_after, present
from errands_orchestrator.cli.output import AsJson, Limit, Row, print_facts, print_json, print_rows, print_text
from errands_orchestrator.progress import in_short

call_commands = App(name="calls", help="List, show, follow and cancel tool calls.", version_flags=[])

call_commands.command(cancel)


@call_commands.command
def ls(*, filters: Filters | None = None, limit: Limit = 50, as_json: AsJson = False) -> None:
    """List calls, newest first."""
    narrowed = filters or Filters()

    async def work(store: reads.Store, _: Reached) -> list[CallRow]:
        return await wanted_calls(store, narrowed.wanted(await reads.now_ms(store)), limit)

    print_rows([call_fields(row) for row in with_store(work)], COLUMNS, as_json=as_json, nothing="no calls")


@call_commands.command
def show(call: str, /, *, as_json: AsJson = False) -> None:
    """Show one call with its policy, its arguments and its result."""
    print_facts(with_store(lambda store, _: _whole(store, call)), as_json=as_json)


async def _whole(store: reads.Store, cid: str) -> Row:
    row = await existing_call(store, cid)
    policy, arguments = await reads.fields(store, keys.call(cid), ("policy", "arguments"))
    waits = {"shared_limit": row.limit or None, "place": await place_in_line(store, row) or None}
    kept = {
        "queue": row.queue,
        **waits,
        "policy": orjson.loads(policy or "{}"),
        "arguments": orjson.loads(arguments or "{}"),
    }
    return {**call_fields(row), **kept, **_end(row.outcome)}


def _end(outcome: Outcome | None) -> Row:
    """How a call ended; null where that does not apply."""
    ended = outcome or Outcome(state=CallState.RUNNING)
    completed = ended.state is CallState.COMPLETED
    return {
        "result": ended.result if completed else None,
        "result_type": ended.result_type if completed else None,
        "error": ended.error or None,
        "error_kind": ended.error_kind or None,
        "by": ended.by or None,
        "reason": ended.reason or None,
        "confirmed": ended.confirmed if ended.state is CallState.CANCELLED else None,
        "timeout_seconds": ended.timeout_seconds,
    }


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
