"""`wait-for-tool-calls`: answered once all or one of some calls have ended, or the time is up, or somebody speaks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from errands_orchestrator.arrivals import Answered, Begun
from errands_orchestrator.calls import CallRow, call_rows, resolve
from errands_orchestrator.capabilities.desk import Desk
from errands_orchestrator.texts import end_text

LONGEST_SECONDS = 300
USUAL_SECONDS = 30
_By: TypeAlias = Literal["task_handles", "tool_call_ids"]
_ALWAYS = {"task_handles": ("completed",), "tool_call_ids": ("completed", "pending")}


@dataclass(frozen=True, slots=True)
class _Named:
    """A call that is waited for: what the model calls it, and its record; None where there is no such call."""

    name: str
    by: _By
    row: CallRow | None
    is_final: bool
    """It has ended, and the session knows: what is said of it fits the messages beside this answer."""


@dataclass(frozen=True, slots=True)
class _Waited:
    """The calls of one wait."""

    named: tuple[_Named, ...]
    any_of: bool

    def names(self, by: str, *, final: bool) -> list[str]:
        """What the model named of those that have ended, or have not."""
        return [it.name for it in self.named if it.by == by and it.row and it.is_final == final]

    @property
    def unknown(self) -> list[str]:
        """What is no call of the session."""
        return [it.name for it in self.named if it.row is None]

    @property
    def open(self) -> tuple[str, ...]:
        """Our ids of the calls that have not ended."""
        return tuple(dict.fromkeys(it.row.id for it in self.named if it.row and not it.is_final))

    @property
    def is_over(self) -> bool:
        """Whether there is nothing to wait for any more."""
        return not self.open or (self.any_of and any(it.is_final for it in self.named))


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
    rows = [it.row for it in waited.named if it.row and it.is_final]
    fresh, told = _apart(desk, rows)
    readable = desk.brief.reads_results
    results = {
        _name(waited, row): end_text(row.outcome, desk.max_bytes, readable=readable) for row in fresh if row.outcome
    }
    said: dict[str, object] = {
        "results": results,
        "status": _status(desk, waited),
        "completed_task_handles": waited.names("task_handles", final=True),
        "pending_task_handles": waited.names("task_handles", final=False),
        "completed_tool_call_ids": waited.names("tool_call_ids", final=True),
        "pending_tool_call_ids": waited.names("tool_call_ids", final=False),
        "already_delivered": [_name(waited, row) for row in told],
        "not_found": waited.unknown,
        "woken_by": "" if waited.is_over else desk.call.woken_by,
    }
    # a list or a text that is empty says nothing; what is said of the ids that were asked about always stands there
    asked = {f"{what}_{it.by}" for it in waited.named for what in _ALWAYS[it.by]}
    kept = {key: value for key, value in said.items() if value or key in asked}
    return desk.says(kept, waited=tuple(row.id for row in fresh))


def _status(desk: Desk, waited: _Waited) -> str:
    if waited.is_over:
        return "completed"
    return "interrupted" if desk.call.woken_by else "timed_out"


def _apart(desk: Desk, rows: Iterable[CallRow]) -> tuple[list[CallRow], list[CallRow]]:
    """Of calls that have ended: those whose result is news and stands nowhere else, and those that were told before."""
    own = desk.session.answered_here
    owed = {call.id for call in desk.session.calls if not call.known}
    earlier = list({row.id: row for row in rows if row.id not in own}.values())
    return [row for row in earlier if row.id in owed], [row for row in earlier if row.id not in owed]


def _name(waited: _Waited, row: CallRow) -> str:
    return next(it.name for it in waited.named if it.row and it.row.id == row.id)


async def _look(desk: Desk) -> _Waited:
    handles, ids = _asked(desk, "task_handles"), _asked(desk, "tool_call_ids")
    if not (handles or ids):
        handles, ids = _all_open(desk)
    found = {name: await resolve(desk.store, desk.session, name) for name in (*handles, *ids)}
    rows = {row.id: row for row in await call_rows(desk.store, sorted({cid for cid in found.values() if cid}))}
    running = {call.id for call in desk.session.calls if not call.is_final}

    def named(name: str, by: _By) -> _Named:
        row = rows.get(found[name] or "")
        return _Named(name, by, row, bool(row and row.state.is_final and row.id not in running))

    asked = (*(named(name, "task_handles") for name in handles), *(named(name, "tool_call_ids") for name in ids))
    return _Waited(asked, desk.arguments.get("mode") == "any")


def _asked(desk: Desk, by: str) -> list[str]:
    return list(dict.fromkeys(cast("Sequence[str]", desk.arguments.get(by, ()))))


def _all_open(desk: Desk) -> tuple[list[str], list[str]]:
    """The calls that have not ended, by handle where they have one."""
    open_calls = [call for call in desk.session.calls if not call.is_final]
    handles = [call.handle for call in open_calls if call.handle]
    return handles, [call.provider_id for call in open_calls if not call.handle]
