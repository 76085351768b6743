"""The calls that wait for somebody outside, as those see them who end them or give leave for them."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, cast

from pydantic import JsonValue

from errands_config import keys
from errands_config.settings import Settings
from errands_config.wire import CallState
from errands_orchestrator import reads
from errands_orchestrator.call_search import Wanted, wanted_calls
from errands_orchestrator.calls import CallRow
from errands_orchestrator.definitions import load_toolset
from errands_orchestrator.questions import Question
from errands_orchestrator.redaction import redacted
from errands_orchestrator.tokens import secret_key, token_of

DeferralKind: TypeAlias = Literal["policy", "hook", "tool", "question"]
"""Who deferred it: its disposition, a hook before it, the tool itself, or the model by asking its user."""


@dataclass(frozen=True, slots=True)
class PendingCall:
    """One call that waits for somebody outside. Times are store times in ms."""

    call: CallRow
    kind: DeferralKind
    reason: str
    arguments: Mapping[str, JsonValue]
    """As they stand at this deferral; a value that the tool redacts is a fingerprint."""
    deferred_at: int
    expires_at: int
    token: str = field(repr=False)
    """Who holds it may end the call, or have it run with exactly these arguments."""

    @property
    def question(self) -> Question | None:
        """What the model asks its user, if it is a question."""
        return Question.of(json.dumps(dict(self.arguments))) if self.kind == "question" else None


_FIELDS = (
    "state", "nonce", "defer_kind", "defer_reason", "defer_arguments", "arguments", "deferred_at", "expires_ms",
)  # fmt: skip


async def pending(
    store: reads.Store, settings: Settings, session: str | None = None, limit: int | None = None
) -> tuple[PendingCall, ...]:
    """The newest deferred calls of a session, or of all, in the order in which they were made.

    Raises NotFound for an unknown session, ConfigError for a key that cannot be used.
    """
    rows = await wanted_calls(store, Wanted(frozenset({CallState.DEFERRED}), session=session), limit)
    if not rows:
        return ()
    key = secret_key(settings)
    records = await reads.fields_of_each(store, [keys.call(row.id) for row in rows], _FIELDS)
    hidden = {sid: await _redactions(store, sid) for sid in {row.session for row in rows}}
    found = (
        _pending(row, dict(zip(_FIELDS, values, strict=True)), hidden[row.session], key)
        for row, values in zip(rows, records, strict=True)
    )
    return tuple(call for call in found if call)[::-1]


def _pending(
    row: CallRow, record: Mapping[str, str | None], hidden: Mapping[str, Collection[str]] | None, key: bytes
) -> PendingCall | None:
    """The row with what its record says; None if it waits no more."""
    if record["state"] != CallState.DEFERRED:
        return None
    arguments = json.loads(record["defer_arguments"] or record["arguments"] or "{}")
    kind = cast("DeferralKind", record["defer_kind"])
    names = _hidden_names(kind, row.tool, arguments, hidden)
    since = int(record["deferred_at"] or 0)
    return PendingCall(
        call=row,
        kind=kind,
        reason=record["defer_reason"] or "",
        arguments=redacted(arguments, names, key),
        deferred_at=since,
        expires_at=since + int(record["expires_ms"] or 0),
        token=token_of(key, row.id, int(record["nonce"] or 0)),
    )


def _hidden_names(
    kind: DeferralKind, tool: str, arguments: Mapping[str, JsonValue], hidden: Mapping[str, Collection[str]] | None
) -> Collection[str]:
    if kind == "question":
        return ()
    return arguments.keys() if hidden is None else hidden.get(tool, ())


async def why_it_waits(store: reads.Store, cid: str) -> str:
    """The reason with which a call was deferred, or the question that it asks; empty if there is none."""
    kind, reason, arguments = await reads.fields(store, keys.call(cid), ("defer_kind", "defer_reason", "arguments"))
    return Question.of(arguments or "").text if kind == "question" else reason or ""


async def _redactions(store: reads.Store, sid: str) -> Mapping[str, Collection[str]] | None:
    """What each tool of a session redacts; None if its tools are not in the store any more: then all is hidden."""
    digest = await reads.field(store, keys.session(sid), "tools")
    [listed] = await reads.texts(store, keys.toolset(digest or ""))
    return {offer.name: offer.redact for offer in load_toolset(listed).offers} if listed else None
