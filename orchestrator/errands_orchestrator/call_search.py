"""Finding calls: those of one session or of all, newest first, narrowed by state, tool and time.

There is no index of all calls, but one of each session. They are merged: the newest of each session is read, and of the
rest only what is asked for. Published calls that have not ended have an index of their own, which is read instead.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from errands_config import keys
from errands_config.glob import matches
from errands_config.scripts.script import arun
from errands_config.scripts.search import pick
from errands_config.wire import CallState
from errands_orchestrator import reads, sessions
from errands_orchestrator.calls import CallRow, call_rows

AT_ONCE = 500
"""Most sessions, or calls, that are looked at in one round trip."""
PAGE = 50
"""Ids that are read of one session at a time, after its newest; and most sessions of which pages are read together."""

OPEN = frozenset(state for state in CallState if not state.is_final)
_WATCHED = frozenset({CallState.QUEUED, CallState.RUNNING, CallState.DEFERRED})
"""The states whose calls are all in the index `watch`."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which calls are meant. What is left as it is does not narrow."""

    states: frozenset[CallState] = frozenset(CallState)
    tool: str = "*"
    """A glob as policies have them."""
    since: int = 0
    """Only calls that were recorded then or later: store time, ms."""
    session: str | None = None

    def takes(self, row: CallRow) -> bool:
        """Whether a call is meant."""
        return (
            row.state in self.states
            and matches(self.tool, row.tool)
            and row.created_at >= self.since
            and self.session in (None, row.session)
        )


async def wanted_calls(store: reads.Store, wanted: Wanted, limit: int | None = None) -> list[CallRow]:
    """The newest calls that are wanted, without their outcomes. Raises NotFound for an unknown session."""
    at_once = min(AT_ONCE, limit or AT_ONCE)
    found: list[CallRow] = []
    page: list[str] = []
    async for cid in _candidates(store, wanted):
        page.append(cid)
        if len(page) == at_once:
            found += await _taken(store, wanted, page)
            page, at_once = [], AT_ONCE
            if limit is not None and len(found) >= limit:
                break
    found += await _taken(store, wanted, page)
    return found[:limit]


async def _taken(store: reads.Store, wanted: Wanted, cids: Sequence[str]) -> list[CallRow]:
    """Looked at in the store first: of thousands of calls few may be wanted."""
    picked = await arun(store, pick(cids, wanted.states)) if cids else []
    rows = await call_rows(store, [cid for cid, tool in picked if matches(wanted.tool, tool)], ends=False)
    return [row for row in rows if wanted.takes(row)]


async def _candidates(store: reads.Store, wanted: Wanted) -> AsyncIterator[str]:
    if wanted.session is None and wanted.states <= _WATCHED:
        for cid in sorted(await reads.ranked(store, keys.WATCH), reverse=True):  # ids begin with their time
            yield cid
        return
    if wanted.session is not None:
        await sessions.status_of(store, wanted.session)
    sids = [wanted.session] if wanted.session else await reads.ranked(store, keys.SESSIONS)
    async for cid in newest_first(store, sids, wanted.since):
        yield cid


@dataclass(frozen=True, slots=True, order=True)
class _Place:
    """How far a session's calls were read. The session whose next call may be the newest comes first."""

    age: float
    """When the last one that was read was recorded, negative."""
    last: str
    sid: str
    read: int = 0

    @property
    def span(self) -> tuple[str, int, int]:
        """What to read next: the newest alone, then pages."""
        return keys.calls(self.sid), self.read, self.read + (PAGE if self.read else 1)

    def fresh(self, page: Sequence[tuple[str, float]]) -> list[tuple[float, str]]:
        """Moments and ids of a page without what was read before: a new call pushes the others on by one."""
        return [(moment, cid) for cid, moment in page if (moment, cid) < (-self.age, self.last)]

    def after(self, page: Sequence[tuple[str, float]]) -> _Place | None:
        """Where to read on; None at the end."""
        _, start, stop = self.span
        if len(page) < stop - start:
            return None
        last, moment = page[-1]
        return _Place(-moment, last, self.sid, stop)


async def newest_first(store: reads.Store, sids: Sequence[str], since: int = 0) -> AsyncIterator[str]:
    """Ids of the calls of these sessions, newest first: those recorded at `since` (store time, ms) or later.

    Of two that were recorded at the same moment the one with the larger id comes first.
    """
    places = [_Place(-math.inf, "", sid) for sid in sids]
    held: list[tuple[float, str]] = []
    while places:
        width = AT_ONCE if places[0].read == 0 else PAGE
        chosen = [heapq.heappop(places) for _ in range(min(width, len(places)))]
        pages = await reads.newest_of_each(store, [place.span for place in chosen])
        for place, page in zip(chosen, pages, strict=True):
            held += place.fresh(page)
            if (further := place.after(page)) and -further.age >= since:
                heapq.heappush(places, further)
        may_come = -places[0].age if places else -math.inf
        held.sort()
        while held and held[-1][0] > may_come:
            moment, cid = held.pop()
            if moment >= since:
                yield cid
