"""`errands session step`: one answer of the model."""

from __future__ import annotations

import asyncio

from errands_config.settings import load_settings
from errands_orchestrator.cli.agent import checked_agent
from errands_orchestrator.cli.connecting import reached
from errands_orchestrator.cli.event_file import event_file
from errands_orchestrator.cli.manner import Manner
from errands_orchestrator.cli.output import AsJson
from errands_orchestrator.cli.own_worker import OwnWorker
from errands_orchestrator.cli.run import AgentFile, LogFile, Timeout


def step(
    session: str,
    /,
    *,
    agent_file: AgentFile = None,
    timeout: Timeout = None,
    log_json_file: LogFile = None,
    as_json: AsJson = False,
) -> int:
    """Have the model answer once, wait for what its turn waits for, and pause the session again.

    Prints what the model said. Exit code 8 when it is paused again, 0 when the run has ended with this answer, 5 when
    there is nothing to do.
    """
    from errands_orchestrator.cli.stepping import stepped  # imported here: an orchestrator takes a second

    settings = load_settings()
    own = OwnWorker(checked_agent(agent_file, settings), agent_file) if agent_file else None
    with event_file(log_json_file) as log_file, reached(settings) as there:
        return asyncio.run(stepped(there, session, own, Manner(timeout, log_file, as_json, stepping=True)))
