"""Calls as those see them who ask from outside their worker: rows, progress, cancel, and what an id means."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import orjson

from errands_config import keys
from errands_config.errors import NotFound
from errands_config.scripts import calls as scripts
from errands_config.scripts.calls import CancelAnswer, Place
from errands_config.scripts.letters import read_outcome
from errands_config.scripts.script import arun
from errands_config.text import clean
from errands_config.wire import Actor, CallState, Outcome
from errands_orchestrator import reads
from errands_orchestrator.session import Session

Nudge = Callable[[Sequence[str]], Awaitable[None]]
"""Tells workers to look at the wishes of these calls now; only a hint, since they look once a second anyway."""

REASON_LENGTH = 200
"""Most characters that are kept of why a call was cancelled: it goes into events and logs."""


_OUR_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class CallRow:
    """One call's record without its arguments. Times are store times in ms, 0 where it has not happened."""

    id: str
    session: str
    tool: str
    provider_id: str
    state: CallState
    attempt: int
    queue: str
    label: str
    worker: str
    queued_at: int
    started_at: int
    ended_at: int
    outcome: Outcome | None
    """How it ended; None also where it was not asked for."""
    created_at: int = 0
    limit: str = ""
    """The shared limit that it waits for."""
    cancellable: bool = True
    """False: its model is told that it cannot be stopped."""
    handle: str = ""
    """The name that the model gave it."""
    same_as: str = ""
    """The call that it stood for, whose result is its own."""


_FACTS = (
    "session", "tool", "provider_id", "state", "attempt", "queue", "label", "worker", "queued_at", "started_at",
    "ended_at", "created", "limit", "policy", "task_handle", "same_as",
)  # fmt: skip
_END = ("result", "result_type", "error", "error_kind", "by", "reason", "confirmed", "timeout_seconds", "noted")


async def call_row(store: reads.Store, cid: str) -> CallRow | None:
    """One call, or None."""
    names = (*_FACTS, *_END)
    return _row(cid, names, await reads.fields(store, keys.call(cid), names))


async def call_rows(store: reads.Store, cids: Sequence[str], *, ends: bool = True) -> tuple[CallRow, ...]:
    """Several calls in one round trip; those that do not exist are left out.

    `ends`: with their outcomes, whose results may be megabytes each.
    """
    names = (*_FACTS, *_END) if ends else _FACTS
    answers = await reads.fields_of_each(store, [keys.call(cid) for cid in cids], names)
    rows = (_row(cid, names, values) for cid, values in zip(cids, answers, strict=True))
    return tuple(row for row in rows if row)


def _row(cid: str, names: Sequence[str], values: Sequence[str | None]) -> CallRow | None:
    got = {name: value or "" for name, value in zip(names, values, strict=True)}
    if not got["session"]:
        return None
    state = CallState(got["state"])
    outcome = read_outcome(got) if state.is_final and "result" in got else None
    return CallRow(
        id=cid, session=got["session"], tool=got["tool"], provider_id=got["provider_id"], state=state,
        attempt=int(got["attempt"] or 1), queue=got["queue"], label=got["label"], worker=got["worker"],
        queued_at=int(got["queued_at"] or 0), started_at=int(got["started_at"] or 0),
        ended_at=int(got["ended_at"] or 0), outcome=outcome, created_at=int(got["created"] or 0),
        limit=got["limit"] if state is CallState.WAITING else "",
        cancellable=orjson.loads(got["policy"] or "{}").get("cancellable", True), handle=got["task_handle"],
        same_as=got["same_as"],
    )  # fmt: skip


async def place_in_line(store: reads.Store, row: CallRow) -> int:
    """Its place among those who wait for the same shared limit, from 1; 0 if it does not wait for one."""
    if not row.limit:
        return 0
    _, waiting, _ = keys.limit(row.limit)
    rank = await reads.rank(store, waiting, row.id)
    return 0 if rank is None else rank + 1


@dataclass(frozen=True, slots=True)
class ProgressEntry:
    """One report of a running call: its place in the call's stream, store time in ms, JSON text."""

    seq: str
    at: int
    payload: str


async def progress_of(store: reads.Store, cid: str, count: int = keys.PROGRESS_KEPT) -> list[ProgressEntry]:
    """A call's reports, newest first."""
    entries = await reads.newest(store, keys.progress(cid), count)
    return [ProgressEntry(seq, int(entry["at"]), entry["payload"]) for seq, entry in entries]


async def resolve(store: reads.Store, session: Session, name: str) -> str | None:
    """The call that the model means: by our id, else by the name that it gave it, else by the provider's id, a call in
    flight before the newest.

    Only calls of this session are found. The name is foreign text, and becomes part of a key only if it is an id.
    """
    if _OUR_ID.fullmatch(name) and await reads.field(store, keys.call(name), "session") == session.id:
        return name
    if bound := await reads.field(store, keys.handles(session.id), name):
        return bound
    for call in reversed(session.calls):
        if call.provider_id == name and not call.is_final:
            return call.id
    return await reads.field(store, keys.names(session.id), name)


async def cancel_call(
    store: reads.Store, cid: str, *, by: Actor, reason: str, asker: str = "", nudge: Nudge | None = None
) -> CancelAnswer:
    """Ask for the end of a call; a running one is asked through its worker. Raises NotFound."""
    reason = clean(reason).text.replace("\n", " ")[:REASON_LENGTH]
    while True:
        place = Place.of(cid, await reads.fields(store, keys.call(cid), Place.FIELDS))
        if place is None:
            raise NotFound(f"no call {cid!r}: `errands calls ls` lists them")
        answer = await arun(store, scripts.cancel(place, by=by, reason=reason, asker=asker))
        if answer.outcome != "moved":
            break
    if answer.outcome == "asked" and nudge:
        await nudge([cid])
    return answer


async def place_of(store: reads.Store, cid: str) -> Place | None:
    """Where a call stands now."""
    return Place.of(cid, await reads.fields(store, keys.call(cid), Place.FIELDS))
