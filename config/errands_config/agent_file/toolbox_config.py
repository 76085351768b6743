"""Where an agent's tools come from, as the agent file says it. Keys inside `contents` are capitalised."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from errands_config.agent_file.bindings import Binding, Value
from errands_config.agent_file.file_model import ByTag, CapitalisedModel, FileModel, Many, NonEmpty
from errands_config.agent_file.names import Capability


class FolderContents(CapitalisedModel):
    """A folder of executables."""

    path: NonEmpty
    """The folder, looked up beside the agent file, then in the working folder."""
    basename_filter: NonEmpty | None = None
    """A glob (`*` only) over the names of its files."""
    cwd: NonEmpty | None = None
    """The working folder of the scripts; left out: the worker's."""


class FileSystemDirectory(FileModel):
    """Every executable of a folder is a tool."""

    tag: Literal["FileSystemDirectory"]
    contents: FolderContents


class FileContents(CapitalisedModel):
    """One executable."""

    path: NonEmpty
    """The file, looked up beside the agent file, then in the working folder."""


class SingleTool(FileModel):
    """One executable is a tool."""

    tag: Literal["SingleTool"]
    contents: FileContents


BashToolbox: TypeAlias = Annotated[FileSystemDirectory | SingleTool, ByTag()]


class ModuleContents(CapitalisedModel):
    """A Python module by its dotted name."""

    module: NonEmpty
    """Its name; it is found beside the agent file, in the working folder, or where Python finds modules."""


class Module(FileModel):
    """Every `@tool` of a Python module is a tool."""

    tag: Literal["Module"]
    contents: ModuleContents


class SystemContents(CapitalisedModel):
    """What the model may ask about its own calls."""

    name: str = "system"
    """For the reader of the file."""
    description: str = ""
    """For the reader of the file."""
    capabilities: Many[Capability]
    """The functions that the model gets; none: it cannot ask."""


class SystemToolbox(FileModel):
    """The toolbox of capabilities."""

    tag: Literal["SystemToolbox"]
    contents: SystemContents


class McpContents(FileModel):
    """A server of tools that talks MCP over its standard input and output."""

    name: NonEmpty
    executable: NonEmpty
    args: Many[str] = ()
    env: dict[str, Value] = Field(default={})


class McpSimpleBinary(FileModel):
    """The tools of an MCP server."""

    tag: Literal["McpSimpleBinary"]
    contents: McpContents


class OpenApiContents(CapitalisedModel):
    """An HTTP API and its description."""

    spec_url: NonEmpty
    base_url: NonEmpty
    headers: dict[str, str] = Field(default={})
    token: NonEmpty | None = None
    bindings: Many[Binding] = ()


class OpenApiServer(FileModel):
    """Every operation of an HTTP API is a tool."""

    tag: Literal["OpenAPIServer"]
    contents: OpenApiContents
