"""Deletes what is old: records of calls that were told long ago, and sessions that nobody touched for long.

Any number of processes may do so at a time; the scripts decide.
"""

from __future__ import annotations

import structlog

from errands_config import keys
from errands_config.defects import where_raised
from errands_config.scripts.retention import forget, forget_calls
from errands_config.scripts.script import arun
from errands_config.settings import Settings
from errands_orchestrator import reads
from errands_orchestrator.snapshot import load_session

log = structlog.get_logger()

DAY_MS = 86_400_000
SESSIONS_A_PAGE = 200
MOST_CALLS = 10_000
"""Of one session in one look."""
CALLS_A_TIME = 200
"""Deleting a record of megabytes takes the store a while; so many small ones take it a millisecond."""


class Retention:
    """One look at all sessions; the service repeats it."""

    def __init__(self, store: reads.Store, settings: Settings) -> None:
        self._store = store
        self._sessions_ms = int(settings.keep_sessions_days * DAY_MS)
        self._calls_ms = int(settings.keep_calls_days * DAY_MS)

    async def look(self) -> int:
        """Delete what is due; answers how many sessions went."""
        gone, place = 0, 0
        while page := await reads.ranked(self._store, keys.SESSIONS, place, place + SESSIONS_A_PAGE - 1):
            went = sum([await self._one(sid) for sid in page])
            place += len(page) - went
            gone += went
        if gone:
            log.info("sessions.forgotten", count=gone)
        return gone

    async def _one(self, sid: str) -> bool:
        """`_session`; one that cannot be read is left as it is, and keeps no other from being deleted."""
        try:
            return await self._session(sid)
        except reads.AWAY:
            raise
        except Exception as broken:
            log.error("retention.stuck", session_id=sid, error=type(broken).__name__, place=where_raised(broken))
            return False

    async def _session(self, sid: str) -> bool:
        """Delete what is due of one session; True if it went itself."""
        head = await reads.fields(self._store, keys.session(sid), ("version", "updated", "token", "snapshot"))
        version, updated, token, snapshot = head
        if version is None:
            return await arun(self._store, forget(sid, 0, 0)) == "gone"
        now = await reads.now_ms(self._store)
        untouched = bool(self._sessions_ms) and not token and int(updated or now) <= now - self._sessions_ms
        older_than = now if untouched else now - self._calls_ms if self._calls_ms else 0
        await self._calls(sid, int(version), older_than, set() if untouched else _tracked(snapshot))
        return untouched and await arun(self._store, forget(sid, int(version), self._sessions_ms)) == "forgotten"

    async def _calls(self, sid: str, version: int, before: int, tracked: set[str]) -> None:
        made = await reads.upto(self._store, keys.calls(sid), before, MOST_CALLS)
        old = [cid for cid in made if cid not in tracked]
        for start in range(0, len(old), CALLS_A_TIME):
            answer = await arun(self._store, forget_calls(sid, version, old[start : start + CALLS_A_TIME]))
            if answer.outcome == "moved":
                return


def _tracked(snapshot: str | None) -> set[str]:
    """The calls whose news the model has not had."""
    return {call.id for call in load_session(snapshot).calls} if snapshot else set()
