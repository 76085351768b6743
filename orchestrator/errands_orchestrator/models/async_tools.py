"""Which models know calls whose results come in a later request, by themselves: one table."""

from __future__ import annotations

import re

from errands_config.agent import Agent

_SINCE = (
    re.compile(r"gpt-6-astra\b"),
    re.compile(r"gpt-6\.\d+\b"),
    re.compile(r"gpt-([7-9]|\d{2,})\b"),
)
"""The first such model, and those that came behind it."""


def has_async_tools(agent: Agent, model_name: str) -> bool:
    """Whether background tools are offered as asynchronous: as the agent file says, else by the model's name.

    A gateway's prefix (`openai/gpt-…`) does not count. Only the Responses API has such tools.
    """
    if agent.flavor != "OpenAIResponses":
        return False
    if agent.async_tools is not None:
        return agent.async_tools
    name = model_name.lower().rpartition("/")[2]
    return any(form.match(name) for form in _SINCE)
