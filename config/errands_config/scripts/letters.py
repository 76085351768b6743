"""Letters and outcomes as the scripts write and answer them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from errands_config.wire import CallState, Mail, Outcome


def read_mail(entries: Sequence[Any]) -> tuple[Mail, ...]:
    """Stream entries, as XRANGE gives them, as letters."""
    return tuple(_letter(seq, dict(zip(flat[::2], flat[1::2], strict=True))) for seq, flat in entries)


def _letter(seq: str, fields: dict[str, str]) -> Mail:
    outcome = read_outcome(fields) if fields["kind"] == "toolCallFinished" else None
    return Mail(
        seq=seq,
        id=fields["id"],
        kind=fields["kind"],  # pyright: ignore[reportArgumentType]
        sender=fields["sender"],
        priority=fields.get("priority", "normal"),  # pyright: ignore[reportArgumentType]
        hops=int(fields.get("hops", 0)),
        expects_reply=fields.get("expects_reply") == "1",
        at=int(fields["at"]),
        text=fields.get("text", ""),
        call=fields.get("call", ""),
        starts=int(fields.get("starts", 1)),
        calls=tuple(fields.get("calls", "").split()),
        turns=int(fields.get("turns", 0)),
        outcome=outcome,
        truncated=fields.get("truncated") == "1",
    )


def read_outcome(fields: Mapping[str, str]) -> Outcome:
    """The outcome of a call, from the fields of its record or of its completion mail."""
    seconds = fields.get("timeout_seconds")
    return Outcome(
        state=CallState(fields["state"]),
        result=fields.get("result", ""),
        result_type="json" if fields.get("result_type") == "json" else "text",
        error=fields.get("error", ""),
        error_kind=fields.get("error_kind", ""),
        by=fields.get("by", ""),
        reason=fields.get("reason", ""),
        confirmed=fields.get("confirmed") != "false",
        timeout_seconds=float(seconds) if seconds else None,
        noted=fields.get("noted") == "1",
    )


def outcome_fields(outcome: Outcome) -> dict[str, str]:
    """An outcome as a record keeps it; what is empty is left out."""
    fields = {
        "state": str(outcome.state), "result": outcome.result, "result_type": outcome.result_type,
        "error": outcome.error, "error_kind": outcome.error_kind, "by": outcome.by, "reason": outcome.reason,
        "confirmed": "" if outcome.confirmed else "false",
        "timeout_seconds": "" if outcome.timeout_seconds is None else f"{outcome.timeout_seconds:g}",
        "noted": "1" if outcome.noted else "",
    }  # fmt: skip
    return {name: value for name, value in fields.items() if value}
