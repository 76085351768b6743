"""The session store: every script and read of sessions that the orchestrator and its faces need."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import uuid6

from errands_config import keys
from errands_config.errors import Conflict, NotFound
from errands_config.scripts import sessions as scripts
from errands_config.scripts.script import Invocation, arun
from errands_config.scripts.sessions import Definitions, Receipt
from errands_config.wire import ControlVerb, Priority
from errands_orchestrator import reads
from errands_orchestrator.session import Entry
from errands_orchestrator.snapshot import load_entry, load_session

Status = Literal["ready", "running", "waiting_calls", "waiting_external", "idle", "paused"]


def new_id() -> str:
    """A fresh id of ours: UUIDv7, so that ids sort by time."""
    return str(uuid6.uuid7())


def new_token() -> str:
    """A fresh right to write: 128 random bits, hex."""
    return secrets.token_hex(16)


@dataclass(frozen=True, slots=True)
class SessionRow:
    """One session for lists. Times are store times in ms."""

    id: str
    agent: str
    status: Status
    created: int
    updated: int
    running_calls: int
    cause: str


async def start(store: reads.Store, slug: str, made_of: Definitions, text: str) -> str:
    """Create a session with its first message; whoever acquires it steps it. Returns its id."""
    sid = new_id()
    await cast("Any", store.hset(keys.AGENTS, slug, made_of.agent_digest))
    await arun(store, scripts.create(sid, slug, made_of, text=text))
    return sid


async def send(
    store: reads.Store, sid: str, text: str, *, mail_id: str | None = None, interrupt: bool = False
) -> Receipt:
    """Say something to a session as its user. `interrupt`: let go of all it waits for, at once.

    The same `mail_id` again within 24 h is answered `duplicate` with the first receipt. Raises NotFound, or Conflict
    when the mailbox is full.
    """
    priority: Priority = "interrupt" if interrupt else "normal"
    return await _sent(store, sid, scripts.send_mail(sid, mail_id or new_id(), "userMessage", text, priority=priority))


async def control(
    store: reads.Store,
    sid: str,
    verb: ControlVerb,
    *,
    calls: Sequence[str] = (),
    turns: int = 0,
    mail_id: str | None = None,
) -> Receipt:
    """Tell a session what to do. `calls`: what a `cancelCalls` means; `turns`: see `wire.Mail`. Raises NotFound."""
    letter = scripts.send_mail(sid, mail_id or new_id(), "control", verb, calls=calls, turns=turns)
    return await _sent(store, sid, letter)


async def _sent(store: reads.Store, sid: str, letter: Invocation[Receipt]) -> Receipt:
    receipt = await arun(store, letter)
    if receipt.outcome == "unknown":
        raise NotFound(f"no session {sid!r}: `errands session list` lists them")
    if receipt.outcome == "full":
        raise Conflict(f"mailbox full: session {sid} has {keys.MAIL_BOUND} unread letters")
    return receipt


async def entries_of(store: reads.Store, sid: str, since: int = 0) -> tuple[Entry, ...]:
    """The log, from one entry on."""
    texts = await reads.elements(store, keys.log(sid), since)
    return tuple(load_entry(text) for text in texts)


async def length_of(store: reads.Store, sid: str) -> int:
    """The number of entries in the log."""
    return await reads.count(store, keys.log(sid))


async def exists(store: reads.Store, sid: str) -> bool:
    """Whether there is such a session."""
    return bool(await store.exists(keys.session(sid)))


async def status_of(store: reads.Store, sid: str) -> Status:
    """A session's status. Raises NotFound."""
    status = cast("Status | None", await reads.field(store, keys.session(sid), "status"))
    if status is None:
        raise NotFound(f"no session {sid!r}: `errands session list` lists them")
    return status


async def rows(store: reads.Store, limit: int = 50) -> tuple[SessionRow, ...]:
    """The newest sessions, newest first."""
    sids = await reads.ranked(store, keys.SESSIONS, 0, limit - 1, newest_first=True)
    return tuple([await row(store, sid) for sid in sids])


async def row(store: reads.Store, sid: str) -> SessionRow:
    """One session for lists. Raises NotFound."""
    values = await reads.fields(store, keys.session(sid), ("slug", "status", "created", "updated", "snapshot"))
    slug, status, created, updated, snapshot = values
    if status is None:
        raise NotFound(f"no session {sid!r}: `errands session list` lists them")
    cause = load_session(snapshot).cause if snapshot else ""
    running = await _running_calls(store, sid)
    return SessionRow(sid, slug or "", cast("Status", status), int(created or 0), int(updated or 0), running, cause)


async def call_ids(store: reads.Store, sid: str) -> list[str]:
    """The ids of a session's calls, oldest first."""
    return await reads.ranked(store, keys.calls(sid))


async def _running_calls(store: reads.Store, sid: str) -> int:
    cids = await call_ids(store, sid)
    states = await reads.field_of_each(store, [keys.call(cid) for cid in cids], "state")
    return sum(state in ("queued", "running") for state in states)
