"""What a wrapper puts around a tool: `toolCallPolicyConfig.wrappers[].decorators`."""

from __future__ import annotations

from typing import Annotated, Literal, Self, TypeAlias

from pydantic import Field, model_validator

from errands_config.agent_file.file_model import LONGEST_SECONDS, ByTag, FileModel, Many, NonEmpty
from errands_config.agent_file.names import ToolName


class Timeout(FileModel):
    """A try ends as timed out after so long."""

    tag: Literal["timeout"]
    seconds: float = Field(gt=0, le=LONGEST_SECONDS)


class Retries(FileModel):
    """Further tries inside one attempt."""

    tag: Literal["retries"]
    count: int = Field(ge=0)
    backoff_seconds: float = Field(default=0, ge=0, le=LONGEST_SECONDS)
    on: Many[Literal["error", "timeout"]] = ("error", "timeout")


class Truncate(FileModel):
    """A result is cut to so many bytes."""

    tag: Literal["truncate"]
    max_bytes: int = Field(ge=1)


class Hook(FileModel):
    """Who is asked: a hook by its name (`hooks/approve` is the hook `approve`), or a registered tool."""

    command: NonEmpty | None = None
    tool: ToolName | None = None

    @model_validator(mode="after")
    def _one_target(self) -> Self:
        if (self.command is None) == (self.tool is None):
            raise ValueError('a hook has exactly one of "command" and "tool"')
        return self


class Before(FileModel):
    """A hook that may change, deny, defer or answer the call."""

    tag: Literal["before"]
    hook: Hook


class After(FileModel):
    """A hook that may change or annotate the result."""

    tag: Literal["after"]
    hook: Hook


class Label(FileModel):
    """A word that lists, logs and metrics show."""

    tag: Literal["label"]
    label: NonEmpty


class RerunOnRestart(FileModel):
    """The call is started again when its worker is lost, at most so many times."""

    tag: Literal["rerunOnRestart"]
    times: int = Field(default=1, ge=1)
    """How often; after that the call is lost."""


class Limit(FileModel):
    """The call takes a slot of a shared limit."""

    tag: Literal["limit"]
    name: NonEmpty


class Cancellable(FileModel):
    """Whether the call can be stopped."""

    tag: Literal["cancellable"]
    cancellable: bool


Decorator: TypeAlias = Annotated[
    Timeout | Retries | Truncate | Before | After | Label | RerunOnRestart | Limit | Cancellable, ByTag()
]
