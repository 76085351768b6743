"""The command `errands worker`, also as `python -m errands_workers`."""

from __future__ import annotations

import itertools
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from errands_config.agent import load_agent
from errands_config.embedded import embedded_store
from errands_config.errors import ConfigError
from errands_config.queue_name import fault_of_queue
from errands_config.settings import Settings, load_settings
from errands_config.store import ping, store_url
from errands_config.toolboxes import toolboxes_of
from errands_workers.launcher import Launcher
from errands_workers.logs import log_to_stderr
from errands_workers.plan import DEFAULT_SLOTS, Pool, WorkerPlan

_POOL_OPTIONS = ("-P", "--pool")


def worker(
    *agent: str,
    tools: Annotated[list[Path] | None, Parameter(negative="")] = None,
    module: Annotated[list[str] | None, Parameter(negative="")] = None,
    hooks: Annotated[list[Path] | None, Parameter(negative="")] = None,
    queues: str | None = None,
    slots: int = DEFAULT_SLOTS,
    pool: Pool = "prefork",
) -> int:
    """Run tools for agents, until it is told to stop: once, and running calls may end; twice, and they are lost.

    What comes after `--` are options of `celery worker`.

    Parameters
    ----------
    agent
        Agent files whose toolboxes are served.
    tools
        Folders of executables.
    module
        Python modules with functions that `@tool` stands before.
    hooks
        Folders of the executables that agents' policies may name as hooks.
    queues
        Queues to serve, separated by commas; else `default` and those that the tools and the agents' policies name.
    slots
        Calls at a time.
    pool
        `prefork`: a process for each slot; everything runs there and can be stopped by force. `threads`: one process
        for all; it serves executables, and functions with `@tool(cooperative=True)`.
    """
    agents = [Path(word) for word in itertools.takewhile(lambda word: not word.startswith("-"), agent)]
    plan = WorkerPlan(
        agents=tuple(path.absolute() for path in agents),
        tools=tuple(path.absolute() for path in tools or ()),
        hooks=tuple(path.absolute() for path in hooks or ()),
        modules=tuple(module or ()),
        queues=_names(queues),
        slots=slots,
        pool=pool,
    )
    options = list(agent[len(agents) :])
    _check(plan, options)
    log_to_stderr()
    settings = load_settings()
    with nullcontext() if settings.redis_url else embedded_store(settings.home, settings.durability) as url:
        return _serve(settings.at(url or store_url(settings)), plan, options)


def _serve(settings: Settings, plan: WorkerPlan, options: list[str]) -> int:
    ping(settings)
    return Launcher(settings, plan, options).run()


def _names(queues: str | None) -> tuple[str, ...]:
    names = [] if queues is None else [name.strip() for name in queues.split(",")]
    for name in names:
        if fault := fault_of_queue(name):
            raise ConfigError(f"{name!r}: {fault}", path="--queues")
    return tuple(names)


def _check(plan: WorkerPlan, options: list[str]) -> None:
    """Refuse at once what can be seen without running a tool; the rest is found when the tools are loaded."""
    if any(option.startswith(_POOL_OPTIONS) for option in options):
        raise ConfigError("give it before the `--`: `errands worker … --pool threads`", path="--pool")
    if plan.slots < 1:
        raise ConfigError("at least 1 is expected", path="--slots")
    if not (plan.agents or plan.tools or plan.modules):
        raise ConfigError("nothing to serve: name an agent file, --tools DIR or --module NAME")
    for option, folders in {"--tools": plan.tools, "--hooks": plan.hooks}.items():
        for folder in folders:
            if not folder.is_dir():
                raise ConfigError(f"no folder {folder}", path=option)
    for path in plan.agents:
        toolboxes_of(load_agent(path, api_key_ids=None), path.parent)
