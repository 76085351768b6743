"""The tools that a worker can run, found where its plan says, each under one name."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from errands_config.agent import load_agent
from errands_config.errors import ConfigError
from errands_config.glob import matches
from errands_config.policy import compile_policy
from errands_config.toolboxes import PythonModule, Script, ScriptFolder, Toolbox, toolboxes_of
from errands_config.wire import ToolOffer
from errands_workers.kinds.bash import BashTool, bash_tool
from errands_workers.kinds.function import FunctionTool
from errands_workers.kinds.kind import Runnable
from errands_workers.plan import Pool, WorkerPlan
from errands_workers.tool import Tool, ToolOptions

_DESCRIBED_AT_ONCE = 4
_MAX_STORED_BYTES = 8 * 1024 * 1024
NOT_COOPERATIVE = "the threads pool runs functions only with @tool(cooperative=True)"
"""Why it leaves a tool out."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What a worker serves."""

    tools: Mapping[str, Runnable]
    offers: tuple[ToolOffer, ...]
    skipped: tuple[str, ...] = ()
    """Executables that cannot be tools, and why: they do not keep the others from being served."""
    left_out: tuple[str, ...] = ()
    """Tools that the pool cannot run: functions that are not cooperative, in the threads pool."""
    policy_queues: tuple[str, ...] = ()
    """The queues that the policies of its agents send calls to."""
    hooks: tuple[Path, ...] = ()
    """Folders of command hooks."""

    def queues(self, wanted: tuple[str, ...]) -> tuple[str, ...]:
        """The queues to serve: those that are wanted, else `default` and every one that a tool or a policy names."""
        named = (offer.queue for offer in self.offers)
        return wanted or tuple(dict.fromkeys(["default", *named, *self.policy_queues]))


@dataclass(frozen=True, slots=True)
class _Found:
    """One tool and where it comes from; two that come from the same place are one."""

    name: str
    origin: str
    kind: Literal["function", "bash"]
    tool: Runnable
    options: ToolOptions
    agents: tuple[str, ...]

    def fits(self, pool: Pool) -> bool:
        """Whether that pool can run it, which is to say, end it."""
        return pool == "prefork" or self.kind == "bash" or self.options.cooperative


def load_catalogue(plan: WorkerPlan, max_stored_bytes: int = _MAX_STORED_BYTES) -> Catalogue:
    """Find every tool of a plan, import its modules and ask its executables what they are.

    ConfigError for an agent file, folder or module that cannot be used, for two tools under one name, and if no tool is
    found that the plan's pool can run.
    """
    boxes = list(_boxes(plan))
    modules = [
        found for box, slugs in boxes if isinstance(box, PythonModule) for found in _functions(box.module, slugs)
    ]
    scripts, skipped = _scripts(list(_executables(boxes)), max_stored_bytes)
    by_name: dict[str, _Found] = {}
    for found in (*modules, *scripts):
        by_name[found.name] = _merged(by_name.get(found.name), found)
    served = {name: found for name, found in by_name.items() if found.fits(plan.pool)}
    left_out = tuple(name for name in by_name if name not in served)
    if not served:
        raise ConfigError(_nothing_left(left_out, skipped))
    return Catalogue(
        tools={name: found.tool for name, found in served.items()},
        offers=tuple(_offer(found) for found in served.values()),
        skipped=tuple(skipped),
        left_out=left_out,
        policy_queues=tuple(_policy_queues(plan)),
        hooks=plan.hooks,
    )


def _nothing_left(left_out: Collection[str], skipped: Collection[str]) -> str:
    said = [f"{', '.join(left_out)}: {NOT_COOPERATIVE}"] if left_out else []
    return "; ".join(["nothing to serve: no tool was found that this worker can run", *said, *skipped])


def offered_by(plan: WorkerPlan) -> tuple[ToolOffer, ...]:
    """What a worker with this plan would offer; errors as `load_catalogue`."""
    return load_catalogue(plan).offers


def _boxes(plan: WorkerPlan) -> Iterator[tuple[Toolbox, tuple[str, ...]]]:
    """Every toolbox, and the slugs of the agents that bring it."""
    _can_import_from(Path.cwd())
    for path in plan.agents:
        agent = load_agent(path, api_key_ids=None)
        _can_import_from(path.absolute().parent)
        for box in toolboxes_of(agent, path.absolute().parent):
            yield box, (agent.slug,)
    for folder in plan.tools:
        if not folder.is_dir():
            raise ConfigError(f"no folder {folder}; name one that holds executables", path="--tools")
        yield ScriptFolder(folder.absolute()), ()
    for module in plan.modules:
        yield PythonModule(module), ()


def _policy_queues(plan: WorkerPlan) -> Iterator[str]:
    for path in plan.agents:
        yield from compile_policy(load_agent(path, api_key_ids=None)).queues


def _can_import_from(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _functions(module: str, slugs: tuple[str, ...]) -> Iterator[_Found]:
    try:
        names = vars(importlib.import_module(module)).values()
    except (Exception, SystemExit) as broken:
        raise ConfigError(f"module {module} cannot be imported: {type(broken).__name__}: {broken}") from broken
    tools: list[Tool[..., Any]] = [value for value in names if isinstance(value, Tool)]
    if not tools:
        raise ConfigError(f"module {module} has no function with @tool before it")
    for tool in dict.fromkeys(tools):
        origin = f"{tool.function.__module__}.{tool.function.__qualname__}"
        yield _Found(tool.name, origin, "function", FunctionTool(tool), tool.options, slugs)


@dataclass(frozen=True, slots=True)
class _Executable:
    path: Path
    cwd: Path | None
    agents: tuple[str, ...]


def _executables(boxes: Iterable[tuple[Toolbox, tuple[str, ...]]]) -> Iterator[_Executable]:
    for box, slugs in boxes:
        match box:
            case ScriptFolder(path, wanted, cwd):
                for file in sorted(path.iterdir()):
                    if _may_be_tool(file) and matches(wanted or "*", file.name):
                        yield _Executable(file, cwd, slugs)
            case Script(path):
                yield _Executable(path, None, slugs)
            case PythonModule():
                pass


def _may_be_tool(file: Path) -> bool:
    return not file.name.startswith(".") and file.is_file() and os.access(file, os.X_OK)


def _scripts(executables: list[_Executable], max_stored_bytes: int) -> tuple[list[_Found], list[str]]:
    places = list(dict.fromkeys((one.path, one.cwd) for one in executables))

    def ask(place: tuple[Path, Path | None]) -> BashTool | str:
        try:
            return bash_tool(*place, max_stored_bytes)
        except (ConfigError, OSError) as unfit:
            return str(unfit)

    with ThreadPoolExecutor(_DESCRIBED_AT_ONCE) as pool:
        answers = dict(zip(places, pool.map(ask, places), strict=True))
    found = [
        _Found(tool.said.tool_name, _origin(one), "bash", tool, ToolOptions(), one.agents)
        for one in executables
        if isinstance(tool := answers[one.path, one.cwd], BashTool)
    ]
    return found, [answer for answer in answers.values() if isinstance(answer, str)]


def _origin(one: _Executable) -> str:
    return f"{one.path} in {one.cwd}" if one.cwd else str(one.path)


def _merged(before: _Found | None, found: _Found) -> _Found:
    if before is None:
        return found
    if before.origin != found.origin:
        raise ConfigError(f"two tools are called {found.name}: {before.origin} and {found.origin}; rename one")
    return replace(before, agents=tuple(dict.fromkeys((*before.agents, *found.agents))))


def _offer(found: _Found) -> ToolOffer:
    tool, options = found.tool, found.options
    identity = json.dumps([found.name, tool.description, tool.parameters, found.kind])
    return ToolOffer(
        name=found.name,
        description=tool.description,
        parameters=tool.parameters,
        queue=options.queue,
        digest=hashlib.sha256(identity.encode()).hexdigest(),
        kind=found.kind,
        agents=found.agents,
        cancellable=options.cancellable,
        timeout_seconds=options.timeout,
        rerun_times=options.rerun_on_restart,
        redact=options.redact,
    )
