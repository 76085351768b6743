"""The policy of an agent, compiled once and asked for every call. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from errands_config.agent import Agent
from errands_config.agent_file.policy_config import Disposition, RunAsync
from errands_config.wire import CallPolicy

MAX_CALL_SECONDS = 86_400
"""Longest run of an attempt where the agent file says nothing."""


@dataclass(frozen=True, slots=True)
class Policy:
    """How each call of one agent runs. Made by `compile_policy`."""

    default: CallPolicy
    by_tool: Mapping[str, CallPolicy]

    def resolve(self, tool: str, arguments: object) -> CallPolicy:
        """The policy of one call. `arguments` are what the model sent; no rule of this version looks at them."""
        return self.by_tool.get(tool, self.default)


def compile_policy(agent: Agent) -> Policy:
    """Resolve every rule of the agent beforehand; of two rules for one tool the first holds."""
    config = agent.tool_call_policy_config
    by_tool: dict[str, CallPolicy] = {}
    for rule in config.rules:
        by_tool.setdefault(rule.tool, _call_policy(agent, rule.disposition))
    return Policy(default=_call_policy(agent, config.default), by_tool=by_tool)


def _call_policy(agent: Agent, disposition: Disposition) -> CallPolicy:
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
    )


def _attached(seconds: float | None) -> float | None:
    return None if seconds is None else max(seconds, 0.0)
