"""`errands run`: an agent and a prompt in, the answer out."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from errands_config.settings import load_settings
from errands_orchestrator.cli.agent import checked_agent
from errands_orchestrator.cli.connecting import reached
from errands_orchestrator.cli.event_file import event_file
from errands_orchestrator.cli.manner import Manner
from errands_orchestrator.cli.output import AsJson

Timeout = Annotated[
    float | None,
    Parameter(help="Seconds after which to leave; the session is kept. Exit code 124.", validator=Number(gt=0)),
]
AgentFile = Annotated[Path | None, Parameter(help="Start a worker from this file if none offers the tools.")]
LogFile = Annotated[Path | None, Parameter(help="File that gets a JSON line for each event.")]


def run(
    agent_file: Path,
    prompt: str,
    /,
    *,
    timeout: Timeout = None,
    log_json_file: LogFile = None,
    as_json: AsJson = False,
) -> int:
    """Run an agent on a prompt and print its answer. Its help page stands in `root.py`."""
    from errands_orchestrator.cli.running import Errand, ran  # imported here: an orchestrator takes a second
    from errands_orchestrator.definitions import stored

    settings = load_settings()
    agent = checked_agent(agent_file, settings)
    errand = Errand(agent, stored(agent, agent_file.parent), agent_file, prompt)
    with event_file(log_json_file) as log_file, reached(settings) as there:
        return asyncio.run(ran(there, errand, Manner(timeout, log_file, as_json)))
