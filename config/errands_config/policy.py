"""The policy of an agent, compiled once and asked for every call. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from errands_config.agent import Agent
from errands_config.agent_file.decorators import RerunOnRestart
from errands_config.agent_file.policy_config import Disposition, RunAsync, Wrapper
from errands_config.glob import matches
from errands_config.wire import CallPolicy, SharedLimit

MAX_CALL_SECONDS = 86_400
"""Longest run of an attempt where the agent file says nothing."""


@dataclass(frozen=True, slots=True)
class Policy:
    """How each call of one agent runs. Made by `compile_policy`."""

    default: CallPolicy
    by_tool: Mapping[str, CallPolicy]
    reruns: Sequence[Rerun] = ()

    def resolve(self, tool: str, arguments: object) -> CallPolicy:
        """The policy of one call. `arguments` are what the model sent; no rule of this version looks at them."""
        policy = self.by_tool.get(tool, self.default)
        times = next((it.times for it in reversed(self.reruns) if matches(it.tools, tool)), 0)
        return policy.model_copy(update={"rerun_times": times}) if times else policy

    @property
    def queues(self) -> tuple[str, ...]:
        """The queues that it sends calls to, beside those of the tools, in order of names."""
        return tuple(sorted({one.queue for one in (self.default, *self.by_tool.values()) if one.queue}))


@dataclass(frozen=True, slots=True)
class Rerun:
    """Calls that may be started again. Of several for one tool the last in the file, the nearest to it, counts."""

    tools: str
    """A glob."""
    times: int


def compile_policy(agent: Agent, limits: Sequence[SharedLimit] = ()) -> Policy:
    """Resolve every rule of the agent beforehand; of two rules for one tool the first holds.

    `limits` are those that the settings of this process define. Whoever publishes no calls may leave them out.
    """
    config = agent.tool_call_policy_config
    shared = tuple(limit for name in agent.shared_limits for limit in limits if limit.name == name)
    by_tool: dict[str, CallPolicy] = {}
    for rule in config.rules:
        by_tool.setdefault(rule.tool, _call_policy(agent, rule.disposition, shared))
    return Policy(_call_policy(agent, config.default, shared), by_tool, tuple(_reruns(config.wrappers)))


def _reruns(wrappers: Iterable[Wrapper]) -> Iterator[Rerun]:
    for wrapper in wrappers:
        for decorator in wrapper.decorators:
            if isinstance(decorator, RerunOnRestart):
                yield Rerun(wrapper.match.tool or "*", decorator.times)


def _call_policy(agent: Agent, disposition: Disposition, limits: tuple[SharedLimit, ...]) -> CallPolicy:
    """A queue is kept in synchronous mode too: it may stand for isolation."""
    background = disposition if isinstance(disposition, RunAsync) else None
    asynchronous = agent.execution_mode == "asynchronous"
    limit = agent.async_call_timeout_seconds if asynchronous else None
    return CallPolicy(
        disposition="runAsync" if background and asynchronous else "runSync",
        attach_seconds=_attached(background.attach_seconds) if background and asynchronous else None,
        queue=background.queue if background else None,
        timeout_seconds=MAX_CALL_SECONDS if limit is None else limit,
        queue_timeout_seconds=agent.queue_timeout_seconds,
        limits=limits,
    )


def _attached(seconds: float | None) -> float | None:
    return None if seconds is None else max(seconds, 0.0)
