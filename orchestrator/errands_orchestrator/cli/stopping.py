"""Stopping the run of a session from outside."""

from __future__ import annotations

from errands_config.errors import Conflict, ErrandsError
from errands_config.store import aio
from errands_orchestrator import sessions
from errands_orchestrator.cli.connecting import Reached
from errands_orchestrator.cli.following import events_after, present
from errands_orchestrator.cli.own_log import own_log
from errands_orchestrator.cli.standing import standing_of
from errands_orchestrator.service import orchestrator

STOP_SECONDS = 15.0
"""Longest wait for the end of the run; its calls have 10 s to be confirmed as ended."""


async def stopped(there: Reached, sid: str) -> str:
    """End the session's run and keep the session; answers how the run ended. Raises NotFound, Conflict without a run.

    An orchestrator of our own sees to it where no other has the session.
    """
    async with aio(there.settings) as store:
        since = await present(store, sid)  # before the look: what ends in between is seen
        if await standing_of(store, sid) in ("completed", "cancelled"):
            raise Conflict(f"session {sid} has no run going on")
        await sessions.control(store, sid, "stopRun")
        with own_log(there.settings.home):
            async with orchestrator(there.settings, only=sid, logs=False):
                return await _end(there, sid, since.event)


async def _end(there: Reached, sid: str, since: str) -> str:
    async for seen in events_after(there, sid, since, STOP_SECONDS):
        if seen.kind == "run.ended":
            return seen.facts["status"]
    raise ErrandsError(f"session {sid} was told to stop its run and has not done so within {STOP_SECONDS:.0f} s")
