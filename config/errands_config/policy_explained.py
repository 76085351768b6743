"""Why a call runs as it does: which rule and which wrappers apply to it, and why the others do not. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from errands_config import glob
from errands_config.agent import Agent
from errands_config.agent_file.decorators import Decorator
from errands_config.agent_file.finding import Finding, key_path, shown
from errands_config.agent_file.policy_config import (
    Keys,
    PlainDisposition,
    RunSync,
    Wrapper,
    decorators_of,
    innermost,
)
from errands_config.compiled_predicate import compiled
from errands_config.policy import compile_policy
from errands_config.predicate_reasons import what_decided
from errands_config.wire import CallPolicy, SharedLimit

_CONFIG = "toolCallPolicyConfig"


@dataclass(frozen=True, slots=True)
class Applied:
    """A wrapper that applies, or the disposition's own `decorate`."""

    path: str
    decorators: tuple[Decorator, ...]
    """The outermost first."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a call runs, and where the file says so."""

    tool: str
    rule: Applied
    """The rule that names the tool, or the default, and the decorators of its own."""
    disposition: PlainDisposition
    """As it is written."""
    wrappers: tuple[Applied, ...]
    """Those that apply, the outermost first; the rule's decorators are inside all of them."""
    others: tuple[Finding, ...]
    """Wrappers and rules for this tool that do not apply, by the place that says so, and why."""
    notes: tuple[str, ...]
    """What does not act in this agent."""
    policy: CallPolicy
    """All of it, resolved."""


def explained(agent: Agent, tool: str, arguments: JsonValue, limits: Sequence[SharedLimit] = ()) -> Explanation:
    """Explain one call. `arguments` as for `Policy.resolve`, `limits` as for `compile_policy`."""
    config = agent.tool_call_policy_config
    named = [place for place, rule in enumerate(config.rules) if rule.tool == tool]
    disposition = config.rules[named[0]].disposition if named else config.default
    path = key_path((_CONFIG, "rules", named[0]) if named else (_CONFIG, "default"))
    own = tuple(decorator for _, decorator in decorators_of(disposition))
    looked_at = [_looked_at(wrapper, place, tool, arguments) for place, wrapper in enumerate(config.wrappers)]
    return Explanation(
        tool=tool,
        rule=Applied(path, own),
        disposition=innermost(disposition),
        wrappers=tuple(one for one in looked_at if isinstance(one, Applied)),
        others=(*(finding for one in looked_at if not isinstance(one, Applied) for finding in one), *_behind(named)),
        notes=tuple(_notes(agent, innermost(disposition))),
        policy=compile_policy(agent, limits).resolve(tool, arguments),
    )


def _looked_at(wrapper: Wrapper, place: int, tool: str, arguments: JsonValue) -> Applied | list[Finding]:
    """The wrapper as it applies, or why it does not."""
    keys: Keys = (_CONFIG, "wrappers", place)
    pattern, predicate = wrapper.match.tool, wrapper.match.args
    if pattern is not None and not glob.matches(pattern, tool):
        return [Finding(key_path((*keys, "match", "tool")), f"{shown(tool)} is not like {shown(pattern)}")]
    if predicate is not None and not compiled(predicate)(arguments):
        decided = what_decided(predicate, arguments, (*keys, "match", "args"))
        return [Finding(key_path(where), text) for where, text in decided]
    return Applied(key_path(keys), wrapper.decorators)


def _behind(named: Sequence[int]) -> Iterator[Finding]:
    for place in named[1:]:
        yield Finding(key_path((_CONFIG, "rules", place)), f"rules[{named[0]}] names this tool first")


def _notes(agent: Agent, disposition: PlainDisposition) -> Iterator[str]:
    if agent.execution_mode == "synchronous" and not isinstance(disposition, RunSync):
        yield f'"{disposition.tag}" acts like "runSync", because "executionMode" is "synchronous"'
