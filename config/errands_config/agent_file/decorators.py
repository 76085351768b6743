"""What a wrapper puts around a tool: `toolCallPolicyConfig.wrappers[].decorators`."""

from __future__ import annotations

from typing import Annotated, Literal, Self, TypeAlias

from pydantic import AfterValidator, Field, model_validator

from errands_config.agent_file.file_model import LONGEST_SECONDS, ByTag, FileModel, Many, NonEmpty
from errands_config.agent_file.finding import shown
from errands_config.agent_file.names import ToolName
from errands_config.agent_file.wording import refuse
from errands_config.hook_name import WANTED, hook_name_of, is_hook_name


class Timeout(FileModel):
    """A try ends as timed out after so long; nothing of it runs on."""

    tag: Literal["timeout"]
    seconds: float = Field(gt=0, le=LONGEST_SECONDS)
    """How long a try may take."""


class Retries(FileModel):
    """Further tries inside one attempt; each is told as progress."""

    tag: Literal["retries"]
    count: int = Field(ge=0)
    """How many tries may follow the first one."""
    backoff_seconds: float = Field(default=0, ge=0, le=LONGEST_SECONDS)
    """How long to wait before each further try."""
    on: Many[Literal["error", "timeout"]] = ("error", "timeout")
    """After what a further try is made: a failure, a `timeout` inside, or both."""


class Truncate(FileModel):
    """A result is cut to so many bytes and says so."""

    tag: Literal["truncate"]
    max_bytes: int = Field(ge=1)
    """Most bytes that are kept."""


def _hook(command: str) -> str:
    if hook_name_of(command) is None:
        last = command.rpartition("/")[2]
        meant = f' (did you mean "{last}"?)' if is_hook_name(last) else ""
        wanted = f'the name of a hook is expected ("approve" or "hooks/approve": {WANTED})'
        refuse(f"{wanted}, got {shown(command)}{meant}; a worker looks for it in its --hooks folders")
    return command


class Hook(FileModel):
    """Who is asked: an executable in the worker's hook folders, or a registered tool."""

    command: Annotated[NonEmpty, AfterValidator(_hook)] | None = None
    """Name of an executable in a `--hooks` folder of the worker; `hooks/approve` is the hook `approve`."""
    tool: ToolName | None = None
    """Name of a tool that the worker has."""

    @model_validator(mode="after")
    def _one_target(self) -> Self:
        if (self.command is None) == (self.tool is None):
            raise ValueError('a hook has exactly one of "command" and "tool"')
        return self


class Before(FileModel):
    """A hook that may change, deny, defer or answer the call. If it fails, the tool does not run."""

    tag: Literal["before"]
    hook: Hook
    """Who is asked."""


class After(FileModel):
    """A hook that may change or annotate the result. If it fails, the result stays as it is."""

    tag: Literal["after"]
    hook: Hook
    """Who is asked."""


class Label(FileModel):
    """A word that lists, logs and metrics show."""

    tag: Literal["label"]
    label: NonEmpty
    """The word; of several the one nearest to the tool counts."""


class RerunOnRestart(FileModel):
    """The call is started again when its worker is lost, at most so many times."""

    tag: Literal["rerunOnRestart"]
    times: int = Field(default=1, ge=1)
    """How often; after that the call is lost. Of several the one nearest to the tool counts."""


class Limit(FileModel):
    """The call takes a slot of a shared limit."""

    tag: Literal["limit"]
    name: NonEmpty
    """Name of a limit in the setting `ERRANDS_LIMITS`."""


class Cancellable(FileModel):
    """Whether the call can be stopped."""

    tag: Literal["cancellable"]
    cancellable: bool
    """False: whoever asks for a stop is told that there is none. Of several the one nearest to the tool counts."""


Decorator: TypeAlias = Annotated[
    Timeout | Retries | Truncate | Before | After | Label | RerunOnRestart | Limit | Cancellable, ByTag()
]
