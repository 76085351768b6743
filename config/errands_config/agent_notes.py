"""What is allowed in an agent file and yet may not do what its writer hopes. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from errands_config.agent import Agent
from errands_config.agent_file.finding import Finding, key_path
from errands_config.agent_file.policy_config import Defer, innermost

_NOT_DEFERRED = (
    'a "defer" does not act while "executionMode" is "synchronous": the call runs like a "runSync"; '
    'write "executionMode": "asynchronous"'
)


def notes_on(agent: Agent) -> Iterator[Finding]:
    """Each place that acts otherwise than it reads, with the reason and what to do."""
    if agent.execution_mode == "asynchronous":
        return
    for keys, disposition in agent.tool_call_policy_config.dispositions():
        if isinstance(innermost(disposition), Defer):
            yield Finding(key_path(("toolCallPolicyConfig", *keys)), _NOT_DEFERRED)
