"""Stopping or pausing the run of a session from outside."""

from __future__ import annotations

from errands_config.errors import Conflict, ErrandsError
from errands_config.store import aio
from errands_config.wire import ControlVerb
from errands_orchestrator import reads, sessions
from errands_orchestrator.cli.connecting import Reached
from errands_orchestrator.cli.following import Seen, events_after, present
from errands_orchestrator.cli.own_log import own_log
from errands_orchestrator.cli.standing import snapshot_of, standing_of
from errands_orchestrator.service import orchestrator

STOP_SECONDS = 15.0
"""Longest wait for a session to obey; the calls of a run that ends have 10 s to be confirmed as ended."""


async def stopped(there: Reached, sid: str) -> str:
    """End the session's run and keep the session; answers how the run ended. Raises NotFound, Conflict without a run.

    An orchestrator of our own sees to it where no other has the session.
    """
    async with aio(there.settings) as store:
        since = await present(store, sid)  # before the look: what ends in between is seen
        if await standing_of(store, sid) not in ("going on", "paused"):
            raise Conflict(f"session {sid} has no run going on")
        return (await _obeyed(store, there, sid, "stopRun", since.event)).facts["status"]


async def paused(there: Reached, sid: str) -> str:
    """Pause the session's run; answers the cause that stands with it. Raises NotFound, Conflict without a run to pause.

    Its calls go on.
    """
    async with aio(there.settings) as store:
        since = await present(store, sid)
        match await standing_of(store, sid):
            case "going on":
                seen = await _obeyed(store, there, sid, "pause", since.event)
            case "paused" | "resting":
                session, _ = await snapshot_of(store, sid)
                raise Conflict(f"session {sid} is paused already: {session.cause}")
            case _:
                raise Conflict(f"session {sid} has no run going on")
        if seen.kind == "run.ended":
            raise Conflict(f"the run of session {sid} ended first: {seen.facts['status']}")
        return seen.facts["cause"]


async def _obeyed(store: reads.Store, there: Reached, sid: str, verb: ControlVerb, since: str) -> Seen:
    """Tell the session, and wait for the end or the pause of its run."""
    await sessions.control(store, sid, verb)
    awaited = ("run.ended",) if verb == "stopRun" else ("run.ended", "run.paused")
    with own_log(there.settings.home):
        async with orchestrator(there.settings, only=sid, logs=False):
            async for seen in events_after(there, sid, since, STOP_SECONDS):
                if seen.kind in awaited:
                    return seen
    raise ErrandsError(f"session {sid} was told to {_word(verb)} its run and has not done so in {STOP_SECONDS:.0f} s")


def _word(verb: ControlVerb) -> str:
    return "pause" if verb == "pause" else "stop"
