"""How calls run, as the agent file says it: `toolCallPolicyConfig`."""

from __future__ import annotations

from collections.abc import Iterator
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
    """The call is not run; somebody outside completes it. Acts only if the agent is `asynchronous`."""

    tag: Literal["defer"]
    reason: str
    """Why, for those who decide."""
    expires_seconds: Seconds | None = None
    """How long it waits; left out: as long as the settings allow."""
    attached: bool = True
    """Whether the step waits for it; else the model goes on with a placeholder."""


class Decorate(FileModel):
    """Decorators around another disposition. Read for older files; wrappers say the same."""

    tag: Literal["decorate"]
    decorators: Many[Decorator]
    """The outermost first. They are nearer to the tool than those of any wrapper."""
    inner: Disposition
    """How the calls run inside them."""


PlainDisposition: TypeAlias = RunSync | RunAsync | Defer
"""A disposition without its decorators."""
Disposition: TypeAlias = Annotated[PlainDisposition | Decorate, ByTag()]

Decorate.model_rebuild()


def innermost(disposition: Disposition) -> PlainDisposition:
    """The disposition inside every `decorate`."""
    return innermost(disposition.inner) if isinstance(disposition, Decorate) else disposition


Keys: TypeAlias = tuple[str | int, ...]
"""Keys and positions on the way to a place in the file."""


def decorators_of(disposition: Disposition, keys: Keys = ()) -> Iterator[tuple[Keys, Decorator]]:
    """The decorators of every `decorate`, the outermost first, each with its place below `keys`."""
    if isinstance(disposition, Decorate):
        for position, decorator in enumerate(disposition.decorators):
            yield (*keys, "decorators", position), decorator
        yield from decorators_of(disposition.inner, (*keys, "inner"))


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
    """A predicate on what the model sent, before bindings: `{"path": p, "equals": value}`, `{"path": p, "glob": text}`
    (strings only), `{"path": p, "exists": true}` (null is a value), `{"all": [...]}`, `{"any": [...]}` or
    `{"not": {...}}`. A path is keys and positions joined by dots (`options.targets.0`), the empty one is the whole
    value. What is missing equals nothing and is like nothing, so that `not` covers it."""


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
    """How the calls of single tools run."""
    wrappers: Many[Wrapper] = ()
    """What is put around calls. Every wrapper that matches applies, the first one outermost."""

    def dispositions(self) -> Iterator[tuple[Keys, Disposition]]:
        """Every disposition with its place below this part."""
        yield ("default",), self.default
        for position, rule in enumerate(self.rules):
            yield ("rules", position, "disposition"), rule.disposition

    def decorators(self) -> Iterator[tuple[Keys, Decorator]]:
        """Every decorator with its place below this part."""
        for keys, disposition in self.dispositions():
            yield from decorators_of(disposition, keys)
        for position, wrapper in enumerate(self.wrappers):
            for place, decorator in enumerate(wrapper.decorators):
                yield ("wrappers", position, "decorators", place), decorator
