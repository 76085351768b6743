"""`errands session start`: a session with its first message, for whoever steps sessions."""

from __future__ import annotations

import asyncio
from typing import Annotated

from cyclopts import Parameter

from errands_config.settings import load_settings
from errands_orchestrator.cli.assignments import Assignments, assigned
from errands_orchestrator.cli.connecting import reached
from errands_orchestrator.cli.exit_codes import UsageError
from errands_orchestrator.cli.manner import Manner
from errands_orchestrator.cli.output import AsJson
from errands_orchestrator.cli.run import Timeout


def start(
    agent: Annotated[str, Parameter(help="An agent file, or the slug of an agent that `errands agent list` lists.")],
    prompt: Annotated[str, Parameter(help="The first message; left out: nothing is asked yet.")] = "",
    /,
    *,
    given: Assignments = None,
    step: Annotated[bool, Parameter(negative="", help="Do one step of it, as `errands session step` does.")] = False,
    timeout: Timeout = None,
    as_json: AsJson = False,
) -> int:
    """Start a session and print its id. It is stepped by whoever steps sessions: `errands orchestrator`, for example.

    On stdout stands the id alone: sid=$(errands session start agent.json "Hello").
    """
    from errands_orchestrator.cli.starting import from_file, started  # imported here: an orchestrator takes a second

    if step and not prompt:
        raise UsageError("--step wants a prompt: without one there is nothing to do")
    settings, values = load_settings(), assigned(given)
    found = from_file(agent, settings)
    with reached(settings) as there:
        manner = Manner(timeout, as_json=as_json, stepping=step)
        return asyncio.run(started(there, found or agent, prompt, manner, values))
