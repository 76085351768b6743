"""One session stepped and watched until its run ends, its person has enough, or its time is up."""

from __future__ import annotations

from dataclasses import dataclass

from errands_orchestrator import reads, sessions
from errands_orchestrator.cli.connecting import Reached
from errands_orchestrator.cli.display import Display, display
from errands_orchestrator.cli.following import Point, Seen
from errands_orchestrator.cli.manner import Manner
from errands_orchestrator.cli.own_log import hearing_the_model, own_log
from errands_orchestrator.cli.patience import until_over
from errands_orchestrator.cli.watching import Ending, Watcher
from errands_orchestrator.service import orchestrator

LEAVE_SECONDS = 0.5
"""What a session in hand gets to park when we leave before its run has ended."""


@dataclass(frozen=True, slots=True)
class Watched:
    """A session to be watched."""

    sid: str
    prompt: str
    """What its person asked, for the head of what is shown."""
    since: Point
    """What comes later is shown."""


async def conduct(store: reads.Store, there: Reached, watched: Watched, manner: Manner) -> Ending:
    """Step the session (or let another orchestrator do it) and watch it to an ending."""
    with display() as shown, own_log(there.settings.home, hearing_the_model(shown.say)):
        watcher = Watcher(store, watched.sid, watched.prompt, shown, watched.since)
        watching = watcher.watch(there, manner.log_file.write if manner.log_file else _unheard)
        async with orchestrator(there.settings, only=watched.sid, logs=False) as ownership:
            ending = await until_over(watching, lambda: _stop(store, watched.sid, shown), manner.timeout_seconds)
            if ending.left:
                await ownership.close(LEAVE_SECONDS)
            return ending


def _unheard(_: Seen) -> None:
    pass


async def _stop(store: reads.Store, sid: str, shown: Display) -> None:
    shown.say("stopping the run; press Ctrl-C again to leave at once")
    await sessions.control(store, sid, "stopRun")
