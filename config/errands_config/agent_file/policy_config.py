"""How calls run, as the agent file says it: `toolCallPolicyConfig`."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, Field

from errands_config.agent_file.decorators import Decorator
from errands_config.agent_file.file_model import LONGEST_SECONDS, ByTag, FileModel, Many, NonEmpty, Seconds
from errands_config.agent_file.finding import shown
from errands_config.agent_file.names import CAPABILITIES, ToolName
from errands_config.agent_file.wording import refuse
from errands_config.predicate import Predicate
from errands_config.queue_name import fault_of_queue


def _usable(name: str) -> str:
    if fault := fault_of_queue(name):
        refuse(f"{fault}, got {shown(name)}")
    return name


QueueName: TypeAlias = Annotated[str, AfterValidator(_usable)]


class RunSync(FileModel):
    """The step waits for the call; several of one turn run one after another."""

    tag: Literal["runSync"]


class RunAsync(FileModel):
    """The call runs in the background, if the agent is `asynchronous`."""

    tag: Literal["runAsync"]
    attach_seconds: float | None = Field(default=None, le=LONGEST_SECONDS)
    """How long a step stays attached; 0 or less: not at all; left out: as the yield strategy says."""
    queue: QueueName | None = None
    """The queue whose workers may run it; left out: the tool's own."""


class Defer(FileModel):
    """The call is not run; somebody outside completes it."""

    tag: Literal["defer"]
    reason: str
    expires_seconds: Seconds | None = None
    attached: bool = True


class Decorate(FileModel):
    """Decorators around another disposition. Read for older files; wrappers say the same."""

    tag: Literal["decorate"]
    decorators: Many[Decorator]
    inner: Disposition


_Any: TypeAlias = RunSync | RunAsync | Defer | Decorate


def _flattened(disposition: _Any) -> _Any:
    """Nested `decorate` as one, the outer decorators first; without any decorator, what stands inside."""
    if not isinstance(disposition, Decorate):
        return disposition
    if not disposition.decorators:
        return disposition.inner
    if not isinstance(disposition.inner, Decorate):
        return disposition
    inner = disposition.inner
    return inner.model_copy(update={"decorators": disposition.decorators + inner.decorators})


Disposition: TypeAlias = Annotated[_Any, ByTag(), AfterValidator(_flattened)]

Decorate.model_rebuild()


def _is_a_tool(name: str) -> str:
    if name in CAPABILITIES:
        raise ValueError(f'"{name}" is a capability; no policy applies to capabilities, take the rule out')
    return name


class Rule(FileModel):
    """The disposition of one tool, by its exact name."""

    tool: Annotated[ToolName, AfterValidator(_is_a_tool)]
    """Whose calls; of two rules for one tool the first holds. Capabilities take no rule."""
    disposition: Disposition
    """How they run."""


class Match(FileModel):
    """Which calls a wrapper is for; both parts must hold, a part left out holds."""

    tool: NonEmpty | None = None
    """A glob (`*` only) over the whole name."""
    args: Predicate | None = None


class Wrapper(FileModel):
    """Decorators for every call that matches, the first one outermost."""

    match: Match
    decorators: Many[Decorator]
    """What is put around these calls, the outermost first."""


class ToolCallPolicyConfig(FileModel):
    """The first rule that names the tool, else `default`; around it every wrapper that matches."""

    default: Disposition = RunSync(tag="runSync")
    """How a call runs whose tool no rule names."""
    rules: Many[Rule] = ()
    wrappers: Many[Wrapper] = ()
