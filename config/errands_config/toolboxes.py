"""Where the tools of an agent file really are. Only a process that was given the file itself looks them up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from errands_config.agent import Agent
from errands_config.agent_file.toolbox_config import FileSystemDirectory, SingleTool
from errands_config.errors import ConfigError


@dataclass(frozen=True, slots=True)
class ScriptFolder:
    """A folder whose executables are tools."""

    path: Path
    basename_filter: str | None = None
    """A glob (`*` only) over the names of its files; None: all."""
    cwd: Path | None = None
    """Working folder of the scripts; None: the worker's."""


@dataclass(frozen=True, slots=True)
class Script:
    """One executable that is a tool."""

    path: Path


@dataclass(frozen=True, slots=True)
class PythonModule:
    """A Python module, by its dotted name, whose `@tool` functions are tools."""

    module: str


Toolbox: TypeAlias = ScriptFolder | Script | PythonModule


def toolboxes_of(agent: Agent, folder: Path) -> tuple[Toolbox, ...]:
    """The agent's toolboxes with absolute paths, in file order, `toolDirectory` last of the bash ones.

    A path is looked up in `folder`, where the agent file lies, then in the working folder. Raises ConfigError with the
    key and the places looked at. Modules are only named here; whoever runs them imports them.
    """
    places = (folder, Path.cwd())
    return (*_scripts(agent, places), *(PythonModule(box.contents.module) for box in agent.function_toolboxes))


def _scripts(agent: Agent, places: tuple[Path, ...]) -> Iterator[Toolbox]:
    for position, box in enumerate(agent.bash_toolboxes):
        key = f"bashToolboxes[{position}].contents"
        match box:
            case FileSystemDirectory(contents=contents):
                path = _found(contents.path, f"{key}.Path", places, Path.is_dir)
                cwd = _found(contents.cwd, f"{key}.Cwd", places, Path.is_dir) if contents.cwd else None
                yield ScriptFolder(path, contents.basename_filter, cwd)
            case SingleTool(contents=contents):
                yield Script(_found(contents.path, f"{key}.Path", places, Path.is_file))
    if agent.tool_directory:
        yield ScriptFolder(_found(agent.tool_directory, "toolDirectory", places, Path.is_dir))


def _found(path: str, key: str, places: tuple[Path, ...], fits: Callable[[Path], bool]) -> Path:
    candidates = list(dict.fromkeys((place / path).resolve() for place in places))
    for candidate in candidates:
        if fits(candidate):
            return candidate
    wanted = "folder" if fits == Path.is_dir else "file"
    looked_at = " and ".join(map(str, candidates))
    raise ConfigError(f'no {wanted} "{path}"; looked at {looked_at}', path=key)
