"""Calls as an application handles them: asked to end, or made without a model."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass

import orjson
from pydantic import JsonValue

from errands_config.errors import Conflict, ToolError
from errands_config.wire import CallState
from errands_orchestrator import texts
from errands_orchestrator.calls import CallRow, call_row, cancel_call
from errands_orchestrator.cli.cancelling import all_cancelled
from errands_orchestrator.client_events import BEGINNING, events_of
from errands_orchestrator.client_place import Place
from errands_orchestrator.client_runs import Runs

_LONGEST_ERROR = 65_536
"""Bytes of a tool's failure that stand in the exception."""


@dataclass(frozen=True, slots=True)
class Cancellation:
    """What became of the wish that a call should end."""

    call: str
    cancelled: bool
    """False: it ended by itself meanwhile, or its worker has not ended it yet."""
    previous_status: CallState
    status: CallState

    @property
    def is_requested(self) -> bool:
        """Whether the call still runs, and will be ended by its worker."""
        return not self.status.is_final


async def cancel(place: Place, cid: str, reason: str) -> Cancellation:
    """Ask for the end of a call and wait up to 10 s for it. Raises NotFound, and Conflict if it had ended."""
    [told] = await all_cancelled(place.store, place.there, [cid], reason)
    if not told.accepted:
        raise Conflict(f"call {cid} had already ended: {told.state}")
    return Cancellation(cid, told.state is CallState.CANCELLED, CallState(told.previous), told.state)


async def call_tool(place: Place, runs: Runs, name: str, arguments: Mapping[str, JsonValue]) -> JsonValue:
    """Call one tool and wait for its end; a wait that is cancelled cancels the call.

    Answers text, or the value of a JSON result. Raises NotFound for what nobody offers, ToolError for every other end
    than `completed`.
    """
    from errands_orchestrator import direct_call  # imported here: Celery takes most of a second

    offer = await direct_call.offer_of(place.store, name)
    sid = await direct_call.made_session(place.store, offer)
    async with runs.stepped(sid):
        made = await direct_call.published(
            place.store, place.settings, sid, offer, orjson.dumps(dict(arguments)).decode()
        )
        try:
            await _ended(place, made.session, made.call)
        except asyncio.CancelledError:
            await cancel_call(place.store, made.call, by="user", reason="its caller stopped waiting")
            raise
    return _result(name, await call_row(place.store, made.call))


async def _ended(place: Place, sid: str, cid: str) -> None:
    async with aclosing(events_of(place, sid, BEGINNING, follow=True)) as events:
        async for event in events:
            if event.call == cid and event.ends_call:
                return
            if event.kind == "reset" and (row := await call_row(place.store, cid)) and row.state.is_final:
                return


def _result(name: str, row: CallRow | None) -> JsonValue:
    outcome = row.outcome if row else None
    if outcome is None:
        raise ToolError(f"the record of this call of {name} is gone from the store")
    if outcome.state is not CallState.COMPLETED:
        raise ToolError(texts.end_text(outcome, _LONGEST_ERROR))
    return orjson.loads(outcome.result) if outcome.result_type == "json" else outcome.result
