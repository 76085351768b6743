"""A session as one document, to be kept or looked at elsewhere. Version 1.

    {"version": 1, "exported_at", "session": {…}, "agent": {…} or null, "counts": {…},
     "entries": [{"kind": "user"|"assistant"|"tools"|"compaction", …}],  the log, as the model saw it first
     "calls": [{…, "arguments", "policy", "outcome", "progress"}], oldest first
     "mail": [{…}],                                            what the session has not taken in yet
     "events": [{"seq", "kind", "at", …}]}                     the newest 1,000

Times are RFC 3339, UTC. A later version adds keys and keeps the meaning of those that are there; `version` rises when
that cannot be. Arguments, results and what people said are in it; tokens, which are rights to write, are not.
"""

from __future__ import annotations

from typing import Literal

import orjson
from pydantic import JsonValue

from errands_config import keys
from errands_config.errors import NotFound
from errands_config.scripts.letters import read_mail
from errands_config.wire import Frozen, Mail
from errands_orchestrator import reads, sessions
from errands_orchestrator.calls import CallRow, call_rows, progress_of
from errands_orchestrator.capabilities.desk import when
from errands_orchestrator.definitions import StoredAgent
from errands_orchestrator.snapshot import dump_entry, load_session


class ExportedSession(Frozen):
    """The head of a session."""

    session_id: str
    agent: str
    """Slug."""
    agent_digest: str
    tools_digest: str
    tenant: str
    parent: str
    root: str
    conversation: str
    status: str
    phase: str
    cause: str
    """Why it is paused."""
    turns: int
    """Answers of the model so far."""
    created_at: str | None
    updated_at: str | None


class Counts(Frozen):
    """How much of each list there is."""

    entries: int
    calls: int
    mail: int
    events: int


class ExportedProgress(Frozen):
    """One report of a call."""

    at: str | None
    payload: JsonValue


class ExportedCall(Frozen):
    """One call with its record."""

    tool_call_id: str
    provider_call_id: str
    tool: str
    status: str
    attempt: int
    queue: str
    label: str
    worker: str
    created_at: str | None
    queued_at: str | None
    started_at: str | None
    completed_at: str | None
    arguments: JsonValue
    policy: JsonValue
    outcome: dict[str, JsonValue] | None
    """Result or error, and who asked for a cancel; null while it is open."""
    progress: tuple[ExportedProgress, ...]
    """Oldest first; the newest 50."""


class Export(Frozen):
    """The document."""

    version: Literal[1] = 1
    exported_at: str | None
    session: ExportedSession
    agent: dict[str, JsonValue] | None
    """The agent file; null where the store has dropped it."""
    counts: Counts
    entries: tuple[dict[str, JsonValue], ...]
    calls: tuple[ExportedCall, ...]
    mail: tuple[dict[str, JsonValue], ...]
    events: tuple[dict[str, str], ...]


async def exported(store: reads.Store, sid: str) -> Export:
    """A session with all that belongs to it, as it is now. Raises NotFound."""
    head = await reads.whole(store, keys.session(sid))
    if not head:
        raise NotFound(f"no session {sid!r}: `errands session list` lists them")
    entries = tuple(orjson.loads(dump_entry(entry)) for entry in await sessions.entries_of(store, sid))
    rows = await call_rows(store, await sessions.call_ids(store, sid))
    calls = tuple([await _call(store, row) for row in rows])
    mail = read_mail(await reads.letters_after(store, keys.mail(sid), head.get("cursor", "0-0")))
    events = (await reads.newest(store, keys.events(sid), keys.EVENTS_KEPT))[::-1]
    return Export(
        exported_at=when(await reads.now_ms(store)),
        session=_head(sid, head),
        agent=await _agent(store, head.get("agent", "")),
        counts=Counts(entries=len(entries), calls=len(calls), mail=len(mail), events=len(events)),
        entries=entries,
        calls=calls,
        mail=tuple(_letter(one) for one in mail),
        events=tuple({"seq": seq, **facts, "at": when(int(facts["at"])) or ""} for seq, facts in events),
    )


def _head(sid: str, head: dict[str, str]) -> ExportedSession:
    session = load_session(head["snapshot"]) if head.get("snapshot") else None
    return ExportedSession(
        session_id=sid, agent=head["slug"], agent_digest=head["agent"], tools_digest=head["tools"],
        tenant=head.get("tenant", ""), parent=head.get("parent", ""), root=head.get("root", ""),
        conversation=head.get("conversation", ""), status=head["status"], phase=session.phase if session else "idle",
        cause=session.cause if session else "", turns=session.turn if session else 0,
        created_at=when(int(head["created"])), updated_at=when(int(head["updated"])),
    )  # fmt: skip


async def _agent(store: reads.Store, digest: str) -> dict[str, JsonValue] | None:
    [text] = await reads.texts(store, keys.agent(digest))
    return None if text is None else orjson.loads(StoredAgent.model_validate_json(text).file)


async def _call(store: reads.Store, row: CallRow) -> ExportedCall:
    arguments, policy = await reads.fields(store, keys.call(row.id), ("arguments", "policy"))
    reports = await progress_of(store, row.id)
    return ExportedCall(
        tool_call_id=row.id, provider_call_id=row.provider_id, tool=row.tool, status=row.state, attempt=row.attempt,
        queue=row.queue, label=row.label, worker=row.worker, created_at=when(row.created_at),
        queued_at=when(row.queued_at), started_at=when(row.started_at), completed_at=when(row.ended_at),
        arguments=orjson.loads(arguments or "null"), policy=orjson.loads(policy or "null"),
        outcome=row.outcome.model_dump(mode="json", exclude={"state"}, exclude_defaults=True) if row.outcome else None,
        progress=tuple(
            ExportedProgress(at=when(it.at), payload=orjson.loads(it.payload)) for it in reversed(reports)
        ),
    )  # fmt: skip


def _letter(mail: Mail) -> dict[str, JsonValue]:
    fields = mail.model_dump(mode="json", exclude={"at", "outcome", "truncated"}, exclude_defaults=True)
    return {**fields, "at": when(mail.at)}
