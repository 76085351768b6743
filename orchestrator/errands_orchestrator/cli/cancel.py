"""`errands calls cancel`: one call, some that are named, or all that have something in common."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from typing import Annotated

from cyclopts import Parameter

from errands_config.settings import load_settings
from errands_config.store import aio
from errands_orchestrator import reads
from errands_orchestrator.call_search import OPEN, wanted_calls
from errands_orchestrator.calls import CallRow
from errands_orchestrator.cli.call_fields import COLUMNS, call_fields
from errands_orchestrator.cli.cancelling import Told, all_cancelled, cancelled
from errands_orchestrator.cli.connecting import Reached, reached
from errands_orchestrator.cli.exit_codes import Exit, UsageError
from errands_orchestrator.cli.finding import Filters, existing_calls, states_of
from errands_orchestrator.cli.output import AsJson, Row, print_facts, print_rows, say, table_of

NOTHING = "no call to cancel"
TOLD_COLUMNS = ("tool_call_id", "cancelled", "previous_status", "status")


def cancel(
    *calls: str,
    filters: Filters | None = None,
    dry_run: Annotated[bool, Parameter(negative="", help="Only list what would be cancelled.")] = False,
    yes: Annotated[bool, Parameter(name=("--yes", "-y"), negative="", help="Do not ask first.")] = False,
    reason: Annotated[str, Parameter(help="Why; it is kept with the calls.")] = "cancelled from the command line",
    as_json: AsJson = False,
) -> int:
    """Ask for the end of calls, and wait up to 10 s for it. Exit code 5 if one of them had ended before.

    Name them, or say with options which open ones are meant: those are listed first, and you are asked.
    """
    narrowed = filters or Filters()
    _check(calls, narrowed, sure=yes or dry_run)
    with reached(load_settings()) as there:
        if dry_run:
            return _listed(asyncio.run(_chosen(there, calls, narrowed)), as_json=as_json)
        if len(calls) == 1 and not narrowed.narrow:
            print_facts(asyncio.run(_one(there, calls[0], reason)), as_json=as_json)
            return Exit.OK
        chosen = calls
        if narrowed.narrow:
            rows = asyncio.run(_chosen(there, calls, narrowed))
            chosen = [row.id for row in rows] if yes or _agreed(rows) else []
        told = asyncio.run(_all(there, chosen, reason)) if chosen else []
    return _shown(told, as_json=as_json)


def _check(calls: Sequence[str], filters: Filters, *, sure: bool) -> None:
    if not calls and not filters.narrow:
        raise UsageError("name the calls, or say which are meant with --state, --tool, --since or --session")
    if ended := states_of(filters.state) - OPEN:
        raise UsageError(f"--state: a call that is {min(ended)} has ended; open ones are {', '.join(sorted(OPEN))}")
    if filters.narrow and not sure and not sys.stdin.isatty():
        raise UsageError("nobody can be asked here: say --yes, or look first with --dry-run")


async def _chosen(there: Reached, calls: Sequence[str], filters: Filters) -> list[CallRow]:
    """The open calls that are meant: those named that pass the filters, or all that do. Raises NotFound."""
    async with aio(there.settings) as store:
        wanted = filters.wanted(await reads.now_ms(store), among=OPEN)
        if not calls:
            return await wanted_calls(store, wanted)
        return [row for row in await existing_calls(store, calls) if wanted.takes(row)]


async def _one(there: Reached, cid: str, reason: str) -> Row:
    async with aio(there.settings) as store:
        return await cancelled(store, there, cid, reason)


async def _all(there: Reached, cids: Sequence[str], reason: str) -> list[Told]:
    async with aio(there.settings) as store:
        return await all_cancelled(store, there, cids, reason)


def _agreed(rows: Sequence[CallRow]) -> bool:
    """Show a person what would be cancelled, and ask."""
    if not rows:
        return False
    say(table_of([call_fields(row) for row in rows], COLUMNS).rstrip())
    say(f"Cancel {'this call' if len(rows) == 1 else f'these {len(rows)} calls'}? [y/N]")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _listed(rows: Sequence[CallRow], *, as_json: bool) -> Exit:
    print_rows([call_fields(row) for row in rows], COLUMNS, as_json=as_json, nothing=NOTHING)
    return Exit.OK


def _shown(told: Sequence[Told], *, as_json: bool) -> Exit:
    print_rows([one.row for one in told], TOLD_COLUMNS, as_json=as_json, nothing=NOTHING)
    if late := sum(not one.state.is_final for one in told):
        say(f"of these, {late} have not ended yet: their workers were asked and go on trying")
    return Exit.OK if all(one.accepted for one in told) else Exit.CONFLICT
