"""`wait-for-tool-calls`: answered once all or one of some calls have ended, or the time is up, or somebody speaks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from errands_orchestrator.arrivals import Answered, Begun
from errands_orchestrator.calls import CallRow, call_rows, resolve
from errands_orchestrator.capabilities.desk import Desk
from errands_orchestrator.texts import end_text

LONGEST_SECONDS = 300
USUAL_SECONDS = 30


@dataclass(frozen=True, slots=True)
class _Waited:
    """The calls of one wait: what the model named, with the record of each; None where there is no such call."""

    named: tuple[tuple[str, CallRow | None], ...]
    any_of: bool

    def names(self, *, final: bool) -> list[str]:
        """What the model named of those that have ended, or have not."""
        return [name for name, row in self.named if row and row.state.is_final == final]

    @property
    def unknown(self) -> list[str]:
        """What is no call of the session."""
        return [name for name, row in self.named if row is None]

    @property
    def open(self) -> tuple[str, ...]:
        """Our ids of the calls that have not ended."""
        return tuple(dict.fromkeys(row.id for _, row in self.named if row and not row.state.is_final))

    @property
    def is_over(self) -> bool:
        """Whether there is nothing to wait for any more."""
        return not self.open or (self.any_of and bool(self.names(final=True)))


async def begin(desk: Desk) -> Begun:
    """Decide which of the calls are still to end."""
    waited = await _look(desk)
    if waited.is_over:
        return Begun(desk.call.id)
    seconds = min(max(float(str(desk.arguments.get("timeout_seconds", USUAL_SECONDS))), 0), LONGEST_SECONDS)
    return Begun(desk.call.id, waited.open, desk.now + int(seconds * 1000), waited.any_of)


async def answer(desk: Desk) -> Answered:
    """Say what ended, with the results that stand in no tool message of this turn and were not told before."""
    waited = await _look(desk)
    rows = [row for _, row in waited.named if row and row.state.is_final]
    fresh, told = _apart(desk, rows)
    results = {_name(waited, row): end_text(row.outcome, desk.max_bytes) for row in fresh if row.outcome}
    said: dict[str, object] = {
        "results": results,
        "status": _status(desk, waited),
        "completed_tool_call_ids": waited.names(final=True),
        "pending_tool_call_ids": waited.names(final=False),
        "already_delivered": [_name(waited, row) for row in told],
        "not_found": waited.unknown,
        "woken_by": "" if waited.is_over else desk.call.woken_by,
    }
    # a list or a text that is empty says nothing; the two lists of ids always stand there
    kept = {key: value for key, value in said.items() if value or key.endswith("_call_ids")}
    return desk.says(kept, waited=tuple(row.id for row in fresh))


def _status(desk: Desk, waited: _Waited) -> str:
    if waited.is_over:
        return "completed"
    return "interrupted" if desk.call.woken_by else "timed_out"


def _apart(desk: Desk, rows: Iterable[CallRow]) -> tuple[list[CallRow], list[CallRow]]:
    """Of calls that have ended: those whose result is news of an earlier turn, and those that were told before."""
    attached = {call.id for call in desk.session.attached}
    owed = {call.id for call in desk.session.calls if not call.known}
    earlier = list({row.id: row for row in rows if row.id not in attached}.values())
    return [row for row in earlier if row.id in owed], [row for row in earlier if row.id not in owed]


def _name(waited: _Waited, row: CallRow) -> str:
    return next(name for name, one in waited.named if one and one.id == row.id)


async def _look(desk: Desk) -> _Waited:
    names = cast("Sequence[str]", desk.arguments["tool_call_ids"])
    ids = {name: await resolve(desk.store, desk.session, name) for name in dict.fromkeys(names)}
    rows = {row.id: row for row in await call_rows(desk.store, [cid for cid in ids.values() if cid])}
    named = tuple((name, rows.get(cid) if cid else None) for name, cid in ids.items())
    return _Waited(named, desk.arguments.get("mode") == "any")
