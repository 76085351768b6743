"""`errands tools`: list what live workers offer, and call one tool through the queue."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable

import orjson
from cyclopts import App

from errands_config.settings import load_settings
from errands_config.wire import CallState
from errands_orchestrator.calls import CallRow
from errands_orchestrator.catalogue import LiveOffer, live_offers
from errands_orchestrator.cli.arguments_given import Args, object_given
from errands_orchestrator.cli.connecting import reached, with_store
from errands_orchestrator.cli.exit_codes import Exit
from errands_orchestrator.cli.output import AsJson, Row, print_json, print_rows, print_text, say
from errands_orchestrator.texts import end_text

tool_commands = App(name="tools", help="List what live workers offer; call one tool.", version_flags=[])

LONGEST = 65_536
"""Bytes of an error that are shown."""
COLUMNS = ("name", "queue", "kind", "digest", "workers", "conflict")


@tool_commands.command(name="list")
def list_tools(*, as_json: AsJson = False) -> None:
    """List the tools that live workers offer. A conflict: workers offer different tools under one name."""
    offers = with_store(lambda store, _: live_offers(store))
    print_rows(offered(offers), COLUMNS, as_json=as_json, nothing="no live worker offers a tool: `errands worker`")


def offered(offers: Iterable[LiveOffer]) -> list[Row]:
    """A row for each name and digest, in order of names."""
    by_tool: dict[tuple[str, str], list[LiveOffer]] = {}
    for live in offers:
        by_tool.setdefault((live.offer.name, live.offer.digest), []).append(live)
    names = [name for name, _ in by_tool]
    return [_row(found, conflict=names.count(name) > 1) for (name, _), found in sorted(by_tool.items())]


def _row(found: list[LiveOffer], *, conflict: bool) -> Row:
    offer = found[0].offer
    return {
        "name": offer.name,
        "queue": offer.queue,
        "kind": offer.kind,
        "digest": offer.digest,
        "workers": len({live.worker for live in found}),
        "conflict": conflict,
        "agents": sorted({slug for live in found for slug in live.offer.agents}),
        "description": offer.description,
        "parameters": orjson.loads(offer.parameters),
    }


@tool_commands.command(name="call")
def call_tool(
    name: str,
    /,
    *,
    args: Args = "{}",
    as_json: AsJson = False,
) -> int:
    """Call one tool through its queue and print its result. Exit code 1 if the call does not complete.

    Ctrl-C cancels the call.
    """
    from errands_orchestrator.cli.single_call import called  # imported here: an orchestrator takes a second

    arguments = json.dumps(object_given(args), ensure_ascii=False)  # whole numbers of any size
    with reached(load_settings()) as there:
        return _shown(asyncio.run(called(there, name, arguments)), as_json=as_json)


def _shown(row: CallRow, *, as_json: bool) -> Exit:
    outcome = row.outcome
    completed = row.state is CallState.COMPLETED
    text = end_text(outcome, LONGEST) if outcome else f"call {row.id} still runs: `errands calls show` shows its end"
    if as_json:
        error = None if completed else text
        result = outcome.result if outcome and completed else None
        print_json({"tool_call_id": row.id, "status": str(row.state), "result": result, "error": error})
    elif completed and outcome:
        print_text(outcome.result)
    else:
        say(f"errands: {text}")
    if outcome is None:
        return Exit.INTERRUPTED
    return Exit.OK if completed else Exit.RUN_FAILED
