"""One session stepped and watched until its run ends, its person has enough, or its time is up."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from functools import partial

from errands_orchestrator import reads, sessions
from errands_orchestrator.cli.connecting import Reached
from errands_orchestrator.cli.display import Display, display, somebody_types
from errands_orchestrator.cli.following import Seen
from errands_orchestrator.cli.interrupts import Interrupts
from errands_orchestrator.cli.manner import Manner
from errands_orchestrator.cli.own_log import hearing_the_model, own_log
from errands_orchestrator.cli.patience import until_over
from errands_orchestrator.cli.talking import Talk
from errands_orchestrator.cli.watching import Ending, Watched, Watcher
from errands_orchestrator.ending import end_all
from errands_orchestrator.service import orchestrator

LEAVE_SECONDS = 0.5
"""What a session in hand gets to park when we leave before its run has ended."""


async def conduct(store: reads.Store, there: Reached, watched: Watched, manner: Manner, pressed: Interrupts) -> Ending:
    """Step the session (or let another orchestrator do it) and watch it to an ending."""
    stays = not manner.stepping and somebody_types()
    async with display(talking=not manner.stepping) as shown:
        with own_log(there.settings.home, hearing_the_model(shown.say)):
            talk = Talk(store, there, watched.sid, shown)
            shown.listen(talk.typed)
            watcher = Watcher(store, watched, shown, talk, stays=stays)
            watching = _talking(talk, watcher.watch(there, manner.log_file.write if manner.log_file else _unheard))
            async with orchestrator(there.settings, only=watched.sid, logs=False) as ownership:
                stop = partial(_stop, store, watched.sid, shown, talk)
                ending = await until_over(watching, stop, pressed, manner.timeout_seconds)
                talk.tell_left()
                if ending.left:
                    await ownership.close(LEAVE_SECONDS)
                return ending


async def _talking(talk: Talk, watching: Coroutine[None, None, Ending]) -> Ending:
    """Watch, and send meanwhile what is typed."""
    async with asyncio.TaskGroup() as group:
        delivering = group.create_task(talk.deliver())
        try:
            return await watching
        finally:
            await talk.all_sent()
            await end_all([delivering])


def _unheard(_: Seen) -> None:
    pass


async def _stop(store: reads.Store, sid: str, shown: Display, talk: Talk) -> None:
    talk.close("the run is being stopped")
    shown.say("stopping the run; press Ctrl-C again to leave at once")
    await sessions.control(store, sid, "stopRun")
