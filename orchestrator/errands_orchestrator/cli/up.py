"""`errands up`: everything that development needs, in one command."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from errands_config.errors import ConfigError
from errands_config.settings import Settings, load_settings
from errands_orchestrator.cli.agent import checked_agent
from errands_orchestrator.cli.connecting import reached
from errands_orchestrator.cli.orchestrator import check_installation
from errands_orchestrator.cli.output import AsJson
from errands_orchestrator.cli.own_worker import OwnWorker
from errands_orchestrator.cli.run import HookFolders
from errands_orchestrator.cli.sole_up import sole_up
from errands_orchestrator.cli.stop_requests import stop_requests
from errands_orchestrator.cli.up_news import Note
from errands_orchestrator.cli.up_telling import telling


def up(
    *,
    agent_file: Annotated[
        list[Path], Parameter(consume_multiple=True, negative="", help="Agent files; may be given several times.")
    ],
    slots: Annotated[
        int | None,
        Parameter(
            help="Calls that the worker runs at a time; else 4, or the largest maxConcurrency of its agents.",
            validator=Number(gte=1),
        ),
    ] = None,
    hooks: HookFolders = None,
    as_json: AsJson = False,
) -> int:
    """Run everything that agents need, until Ctrl-C. Its help page stands in `root.py`."""
    settings = load_settings()
    check_installation()
    agents = _agents(agent_file, settings, tuple(hooks or ()))
    slugs = [one.agent.slug for one in agents]
    with stop_requests() as requests, sole_up(settings.home, slugs), telling(as_json=as_json) as told:
        from errands_orchestrator.cli.up_run import kept_up  # imported here: an orchestrator takes a second

        told.tell(Note(text=f"store: {settings.shown_url}"))
        with reached(settings) as there:
            code = asyncio.run(kept_up(there, agents, slots, told, requests))
        told.tell(Note(text="stopped; `errands up` goes on with the sessions that are left"))
        return code


def _agents(files: Sequence[Path], settings: Settings, hooks: tuple[Path, ...]) -> list[OwnWorker]:
    """The agents of the files. Raises ConfigError also for two of one name."""
    agents: dict[str, OwnWorker] = {}
    for file in files:
        agent = checked_agent(file, settings)
        if agent.slug in agents and agents[agent.slug].file.resolve() != file.resolve():
            raise ConfigError(f"{agents[agent.slug].file} and {file} both have slug {agent.slug}; rename one")
        agents[agent.slug] = OwnWorker(agent, file, hooks)
    return list(agents.values())
