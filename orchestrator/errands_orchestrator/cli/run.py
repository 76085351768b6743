"""`errands run`: an agent and a prompt in, the answer out."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter, validators

from errands_config.settings import load_settings
from errands_orchestrator.cli.agent import checked_agent
from errands_orchestrator.cli.assignments import Assignments, assigned
from errands_orchestrator.cli.connecting import reached
from errands_orchestrator.cli.event_file import event_file
from errands_orchestrator.cli.manner import Manner
from errands_orchestrator.cli.output import AsJson

Timeout = Annotated[
    float | None,
    Parameter(
        help="Seconds after which to leave; the session is kept. Exit code 124.", validator=validators.Number(gt=0)
    ),
]
AgentFile = Annotated[Path | None, Parameter(help="Start a worker from this file if none offers the tools.")]
HookFolders = Annotated[
    list[Path] | None,
    Parameter(
        negative="",
        help="Folders of hooks, for a worker that is started; else the folder `hooks` beside the agent file.",
        validator=validators.Path(exists=True, file_okay=False),
    ),
]
LogFile = Annotated[Path | None, Parameter(help="File that gets a JSON line for each event.")]


def run(
    agent_file: Path,
    prompt: str,
    /,
    *,
    given: Assignments = None,
    hooks: HookFolders = None,
    timeout: Timeout = None,
    log_json_file: LogFile = None,
    as_json: AsJson = False,
) -> int:
    """Run an agent on a prompt and print its answer. Its help page stands in `root.py`."""
    from errands_orchestrator.cli.running import Errand, ran  # imported here: an orchestrator takes a second
    from errands_orchestrator.definitions import stored
    from errands_orchestrator.parameters import parameter_values

    settings = load_settings()
    agent = checked_agent(agent_file, settings)
    values = parameter_values(agent, agent_file.absolute().parent, assigned(given))
    made = stored(agent, agent_file.parent)
    errand = Errand(agent, made, agent_file, prompt, parameters=values, hooks=tuple(hooks or ()))
    with event_file(log_json_file) as log_file, reached(settings) as there:
        return asyncio.run(ran(there, errand, Manner(timeout, log_file, as_json)))
