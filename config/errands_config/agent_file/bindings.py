"""Values that are given from outside: an agent's parameters, and arguments bound to a value."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import JsonValue

from errands_config.agent_file.file_model import ByTag, FileModel, NonEmpty
from errands_config.agent_file.names import ToolGlob, ValueName


class LiteralValue(FileModel):
    """The value itself."""

    tag: Literal["Literal"]
    contents: JsonValue


class ParamValue(FileModel):
    """The value of a parameter."""

    tag: Literal["Param"]
    contents: NonEmpty


class SecretValue(FileModel):
    """A secret by its name, known to the worker only."""

    secret: ValueName


Value: TypeAlias = Annotated[LiteralValue | ParamValue | SecretValue, ByTag()]


class Given(FileModel):
    """A default that stands in the file."""

    tag: Literal["Given"]
    contents: JsonValue


class FromEnvironment(FileModel):
    """A default that is an environment variable."""

    tag: Literal["EnvVar"]
    contents: NonEmpty


class FromFile(FileModel):
    """A default that is read from a file."""

    tag: Literal["FileSystem"]
    contents: NonEmpty


class FromCommand(FileModel):
    """A default that a command prints."""

    tag: Literal["Command"]
    contents: NonEmpty


class FromApiKey(FileModel):
    """A default that is one of the settings' keys."""

    tag: Literal["ApiKey"]
    contents: NonEmpty


ParameterDefault: TypeAlias = Annotated[Given | FromEnvironment | FromFile | FromCommand | FromApiKey, ByTag()]


class Parameter(FileModel):
    """A value that whoever starts the agent may set."""

    name: ValueName
    description: str = ""
    """What it is for, for whoever sets it."""
    secret: bool = False
    """Whether its value is known to workers only: it stands in no record and is cut out of results."""
    scope: Literal["process", "session", "message"] = "process"
    """`message`: it may also be set later, with a message."""
    required: bool = True
    """Whether a session needs a value for it to start."""
    default: ParameterDefault | None = None
    """Where its value comes from if nobody sets it."""


class Binding(FileModel):
    """An argument of a tool that gets its value here and leaves the schema that the model sees."""

    tool: ToolGlob | None = None
    """The tools; left out: every tool that takes the argument."""
    arg: NonEmpty
    """The argument."""
    value: Value
    """What the tool gets, whatever the model sends."""
    when_unbound: Literal["fail", "omit", "expose"] = "fail"
    """Without a value: the call fails, the tool gets none, or the argument is the model's."""
