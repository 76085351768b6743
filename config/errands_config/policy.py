"""The policy of an agent, compiled once and asked for every call. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pydantic import JsonValue

from errands_config import glob
from errands_config.agent import Agent
from errands_config.agent_file.bindings import Binding
from errands_config.agent_file.policy_config import (
    Defer,
    Disposition,
    PlainDisposition,
    RunAsync,
    Wrapper,
    decorators_of,
    innermost,
)
from errands_config.compiled_predicate import Holds, compiled
from errands_config.decorated import Layer, decorated, layer_of
from errands_config.wire import Bound, CallPolicy, SharedLimit
from errands_config.wire import Defer as Terms

MAX_CALL_SECONDS = 86_400
"""Longest run of an attempt where the agent file says nothing."""
_MOST_KEPT = 1024
"""Names of tools, and sets of wrappers, whose policies are kept; a model may call any name with any arguments."""


class Policy:
    """How each call of one agent runs. Made by `compile_policy`."""

    __slots__ = ("_of_call", "_of_tool", "queues")

    def __init__(self, written: _Written) -> None:
        self.queues: tuple[str, ...] = written.queues()
        """The queues that it sends calls to, beside those of the tools, in order of names."""
        self._of_tool = lru_cache(_MOST_KEPT)(written.of_tool)
        self._of_call = lru_cache(_MOST_KEPT)(written.of_call)

    def resolve(self, tool: str, arguments: JsonValue) -> CallPolicy:
        """The policy of one call. `arguments` are what the model sent; None where that was no JSON object."""
        known = self._of_tool(tool)
        if known.settled is not None:
            return known.settled
        return self._of_call(tool, tuple([place for place, holds in known.asked if holds(arguments)]))


def compile_policy(agent: Agent, limits: Sequence[SharedLimit] = ()) -> Policy:
    """Read every rule and wrapper of the agent beforehand; of two rules for one tool the first holds.

    `limits` are those that the settings of this process define. Whoever publishes no calls may leave them out.
    """
    config = agent.tool_call_policy_config
    known = {limit.name: limit for limit in limits}
    rules: dict[str, _Rule] = {}
    for rule in config.rules:
        rules.setdefault(rule.tool, _rule(agent, rule.disposition, known))
    wrappers = tuple(_wrapper(wrapper, known) for wrapper in config.wrappers)
    return Policy(_Written(_rule(agent, config.default, known), rules, wrappers, agent.bindings))


@dataclass(frozen=True, slots=True)
class _Rule:
    """A disposition as the policy that it would give alone, and its own decorators."""

    policy: CallPolicy
    layer: Layer


@dataclass(frozen=True, slots=True)
class _Wrapper:
    """A wrapper that can be asked."""

    tools: str
    """A glob."""
    holds: Holds | None
    """None: whatever the arguments are."""
    layer: Layer


@dataclass(frozen=True, slots=True)
class _Tool:
    """What is known of a tool's calls before their arguments are."""

    settled: CallPolicy | None
    """The policy of all of them; None: it depends on `asked`."""
    asked: tuple[tuple[int, Holds], ...] = ()
    """Wrappers for this tool that look at arguments, by their places."""


@dataclass(frozen=True, slots=True)
class _Written:
    """The policy as it stands in the file. Its answers are the same every time and take their time."""

    default: _Rule
    rules: Mapping[str, _Rule]
    wrappers: Sequence[_Wrapper]
    bindings: Sequence[Binding]

    def of_tool(self, tool: str) -> _Tool:
        asked = [(place, one.holds) for place, one in enumerate(self.wrappers) if one.holds and _is_for(one, tool)]
        return _Tool(None, tuple(asked)) if asked else _Tool(self.of_call(tool, ()))

    def of_call(self, tool: str, holding: tuple[int, ...]) -> CallPolicy:
        """The policy of a call for which, of the wrappers that look at arguments, these hold."""
        rule = self.rules.get(tool, self.default)
        layers = [
            one.layer
            for place, one in enumerate(self.wrappers)
            if (place in holding if one.holds else _is_for(one, tool))
        ]
        policy = rule.policy.model_copy(update={"bound": _bound(self.bindings, tool)})
        return decorated(policy, [*layers, rule.layer])

    def queues(self) -> tuple[str, ...]:
        named = {rule.policy.queue for rule in (self.default, *self.rules.values())}
        return tuple(sorted(queue for queue in named if queue))


def _bound(bindings: Sequence[Binding], tool: str) -> tuple[Bound, ...]:
    """The arguments of a tool that are not the model's. Of several bindings of one argument the first holds."""
    first: dict[str, int] = {}
    for place, binding in enumerate(bindings):
        if binding.tool is None or glob.matches(binding.tool, tool):
            first.setdefault(binding.arg, place)
    return tuple(Bound(arg=arg, binding=place) for arg, place in first.items())


def _is_for(wrapper: _Wrapper, tool: str) -> bool:
    return glob.matches(wrapper.tools, tool)


def _wrapper(written: Wrapper, limits: Mapping[str, SharedLimit]) -> _Wrapper:
    args = written.match.args
    holds = compiled(args) if args else None
    return _Wrapper(written.match.tool or "*", holds, layer_of(written.decorators, limits))


def _rule(agent: Agent, disposition: Disposition, limits: Mapping[str, SharedLimit]) -> _Rule:
    """A queue is kept in synchronous mode too: it may stand for isolation."""
    plain = innermost(disposition)
    asynchronous = agent.execution_mode == "asynchronous"
    limit = agent.async_call_timeout_seconds if asynchronous else None
    policy = CallPolicy(
        queue=plain.queue if isinstance(plain, RunAsync) else None,
        timeout_seconds=MAX_CALL_SECONDS if limit is None else limit,
        queue_timeout_seconds=agent.queue_timeout_seconds,
        limits=tuple(limits[name] for name in agent.shared_limits if name in limits),
        may_defer=asynchronous,
        keeps_output="get-tool-call-result" in agent.capabilities,
    )
    if asynchronous:
        policy = policy.model_copy(update=_in_background(plain))
    return _Rule(policy, layer_of([decorator for _, decorator in decorators_of(disposition)], limits))


def _in_background(disposition: PlainDisposition) -> dict[str, object]:
    """What a disposition says that acts in asynchronous mode only."""
    match disposition:
        case RunAsync(attach_seconds=seconds):
            return {"disposition": "runAsync", "attach_seconds": None if seconds is None else max(seconds, 0.0)}
        case Defer(reason=reason, expires_seconds=expires, attached=attached):
            terms = Terms(reason=reason, expires_seconds=expires, attached=attached)
            return {"disposition": "defer", "defer": terms}
        case _:
            return {}
