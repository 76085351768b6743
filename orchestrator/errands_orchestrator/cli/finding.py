"""Calls as a command line names them: by their ids, or by what they have in common."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from cyclopts import Parameter

from errands_config.errors import NotFound
from errands_config.wire import CallState
from errands_orchestrator import reads
from errands_orchestrator.call_search import Wanted, wanted_calls
from errands_orchestrator.calls import CallRow, call_row, call_rows
from errands_orchestrator.cli.exit_codes import UsageError

_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_SPAN = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)([smhdw])")


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class Filters:
    """Options that narrow which calls are meant."""

    state: Annotated[
        tuple[str, ...],
        Parameter(help="Only calls in these states, such as running,queued.", negative="", show_default=False),
    ] = ()
    tool: Annotated[str | None, Parameter(help="Only calls of these tools: a name, or a glob such as bash_*.")] = None
    since: Annotated[
        str | None,
        Parameter(help="Only calls made since then: 10m, 2h, 3d, or a moment such as 2026-01-31T12:00, UTC."),
    ] = None
    session: Annotated[str | None, Parameter(help="Only the calls of this session.")] = None

    @property
    def narrow(self) -> bool:
        """Whether one of them was given."""
        return self != Filters()

    def wanted(self, now_ms: int, among: Iterable[CallState] = CallState) -> Wanted:
        """What they mean at this moment of the store; without a state, those of `among`. Raises UsageError."""
        return Wanted(
            states=states_of(self.state) or frozenset(among),
            tool="*" if self.tool is None else self.tool,
            since=0 if self.since is None else moment_of(self.since, now_ms),
            session=self.session,
        )


def states_of(words: Iterable[str]) -> frozenset[CallState]:
    """States by their names, which commas may stand between. Raises UsageError for a word that is none."""
    named = [part.strip() for word in words for part in word.split(",")]
    for name in named:
        if name not in set(CallState):
            close = difflib.get_close_matches(name, CallState, n=1)
            meant = f"did you mean {str(close[0])!r}?" if close else f"known are {', '.join(CallState)}"
            raise UsageError(f"--state: {name!r} is no state; {meant}")
    return frozenset(map(CallState, named))


def moment_of(text: str, now_ms: int) -> int:
    """A span before now, or a moment in UTC unless it says otherwise, as ms. Raises UsageError."""
    spans = _SPAN.findall(text)
    if spans and "".join(map("".join, spans)) == text:
        return max(0, now_ms - round(sum(float(number) * _MS[unit] for number, unit in spans)))
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"--since: {text!r} is neither a span (10m, 2h, 3d) nor a moment (2026-01-31T12:00)") from None
    return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


async def existing_call(store: reads.Store, cid: str) -> CallRow:
    """A call's record. Raises NotFound."""
    row = await call_row(store, cid)
    if row is None:
        raise _no_call(cid)
    return row


async def existing_calls(store: reads.Store, cids: Sequence[str]) -> list[CallRow]:
    """Calls without their outcomes, in the order asked. Raises NotFound if one does not exist."""
    rows = {row.id: row for row in await call_rows(store, cids, ends=False)}
    for cid in cids:
        if cid not in rows:
            raise _no_call(cid)
    return [rows[cid] for cid in dict.fromkeys(cids)]


def _no_call(cid: str) -> NotFound:
    return NotFound(f"no call {cid!r}: `errands calls ls` lists them")


async def newest_calls(store: reads.Store, sid: str | None, limit: int) -> list[CallRow]:
    """The newest calls of a session, or of all, without outcomes. Raises NotFound for an unknown session."""
    return await wanted_calls(store, Wanted(session=sid), limit)
