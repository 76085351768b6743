"""Looking up what a step cannot know by itself: what names are bound to, and results that others refer to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

from pydantic import JsonValue

from errands_config import keys
from errands_config.scripts.commits import idempotency_digest
from errands_config.wire import Outcome
from errands_orchestrator import reads
from errands_orchestrator.arrivals import Resolved
from errands_orchestrator.brief import Brief
from errands_orchestrator.calls import CallRow, call_row, call_rows, resolve
from errands_orchestrator.dependencies import wanted_of
from errands_orchestrator.made_call import read_calls
from errands_orchestrator.models.model import Reply
from errands_orchestrator.naming import UNNAMED, NamedCall, Names, WantedNames
from errands_orchestrator.references import MOST_ARGUMENTS, Reference, Referred, references_in, values_at
from errands_orchestrator.session import Session, TrackedCall


async def names_in(store: reads.Store, brief: Brief, session: Session, reply: Reply) -> Names:
    """What the names in an answer are bound to. Costs nothing where the agent has no registry."""
    wanted = _wanted(brief, reply) if brief.agent.has_registry else WantedNames()
    if wanted.is_empty:
        return UNNAMED
    bound = await _bound(store, keys.handles(session.id), wanted.handles)
    kept = await _bound(store, keys.idempotency(session.id), [idempotency_digest(key) for key in wanted.keys])
    named = {name: await _repeated(store, await resolve(store, session, name)) for name in wanted.calls}
    firsts = [text.partition(" ") if text else None for text in kept]
    ids = [*bound, *(first[0] if first else None for first in firsts), *named.values()]
    rows = {row.id: row for row in await call_rows(store, sorted({cid for cid in ids if cid}), ends=False)}
    return Names(
        handles={name: _named(cid, rows) for name, cid in zip(wanted.handles, bound, strict=True) if cid},
        keys={key: _named(it[0], rows, it[2]) for key, it in zip(wanted.keys, firsts, strict=True) if it},
        calls={name: _named(cid, rows) for name, cid in named.items() if cid},
    )


def _wanted(brief: Brief, reply: Reply) -> WantedNames:
    made = [call for call in read_calls(brief, reply, [""] * len(reply.calls)) if call.end is None]
    return WantedNames(
        handles=tuple(dict.fromkeys(call.ours.handle for call in made if call.ours.handle)),
        keys=tuple(dict.fromkeys(call.ours.key for call in made if call.ours.key)),
        calls=tuple(dict.fromkeys(name for call in made for name in wanted_of(call))),
    )


async def _repeated(store: reads.Store, cid: str | None) -> str | None:
    """A call, or the one that it was the repetition of, which may not have ended yet."""
    while first := await reads.field(store, keys.call(cid), "same_as") if cid else None:
        cid = first
    return cid


async def _bound(store: reads.Store, key: str, names: Sequence[str]) -> list[str | None]:
    return await reads.fields(store, key, names) if names else []


def _named(cid: str, rows: dict[str, CallRow], likeness: str = "") -> NamedCall:
    row = rows.get(cid)
    return NamedCall(cid, row.provider_id, row.tool, row.state, likeness) if row else NamedCall(cid, likeness=likeness)


async def resolved(store: reads.Store, brief: Brief, call: TrackedCall) -> Resolved:
    """The arguments of a call that waited for others, and what they refer to: of results, which may be megabytes each,
    one is held at a time."""
    arguments = await reads.field(store, keys.call(call.id), "arguments") or "{}"
    references = references_in(json.loads(arguments)) if brief.agent.registry.references else ()
    found: dict[Reference, JsonValue] = {}
    room = MOST_ARGUMENTS
    for it in call.depends:
        own = [reference for reference in references if reference.name == it.name]
        row = await _whose_result_is(store, it.call) if own else None
        if row and row.outcome:
            # in a thread, since it may take long, and the other sessions of this process go on
            values = await asyncio.to_thread(values_at, _referred(row.outcome), own)
            found |= values.found
            room -= values.size
        if room < 0:
            return Resolved(call.id, arguments, {}, is_too_large=True)
    return Resolved(call.id, arguments, found)


async def _whose_result_is(store: reads.Store, cid: str) -> CallRow | None:
    """A call, or the one that it stood for."""
    row = await call_row(store, cid)
    while row and row.same_as:
        row = await call_row(store, row.same_as)
    return row


def _referred(outcome: Outcome) -> Referred:
    return Referred(outcome.result, outcome.result_type == "json")
