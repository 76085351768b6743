"""`errands session pause`: have a session stand still."""

from __future__ import annotations

import asyncio

from errands_config.settings import load_settings
from errands_orchestrator.cli.connecting import reached
from errands_orchestrator.cli.output import AsJson, print_facts


def pause(session: str, /, *, as_json: AsJson = False) -> None:
    """Pause a session: its model is not asked until `errands session resume`, its calls go on.

    Exit code 5 if no run is going on or it is paused already.
    """
    from errands_orchestrator.cli.stopping import paused  # imported here: an orchestrator takes a second

    with reached(load_settings()) as there:
        cause = asyncio.run(paused(there, session))
    print_facts({"session_id": session, "status": "paused", "cause": cause}, as_json=as_json)
