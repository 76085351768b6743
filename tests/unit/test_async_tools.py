"""Which models know calls whose results come later."""

from __future__ import annotations

import json

import pytest

from errands_config.agent import Agent, parse_agent
from errands_orchestrator.models.async_tools import has_async_tools


def agent(**written: object) -> Agent:
    return parse_agent(json.dumps({"slug": "a", **written}), origin="a test")


@pytest.mark.parametrize(
    ("name", "has"),
    [
        ("gpt-6-astra", True),
        ("gpt-6-astra-2026-11-03", True),
        ("openai/gpt-6-astra", True),
        ("GPT-6-Astra", True),
        ("gpt-6.1", True),
        ("gpt-6.1-mini", True),
        ("gpt-7", True),
        ("gpt-10-nova", True),
        ("gpt-6", False),
        ("gpt-6-astral", False),
        ("gpt-5.2", False),
        ("gpt-4.1", False),
        ("my-gpt-7", False),
        ("gpt-70b", False),
        ("strict", False),
        ("", False),
    ],
)
def test_the_name_of_a_model_says_it(name: str, has: bool) -> None:
    assert has_async_tools(agent(flavor="OpenAIResponses"), name) is has


@pytest.mark.parametrize("said", [True, False])
def test_the_agent_file_may_say_otherwise(said: bool) -> None:
    written = agent(flavor="OpenAIResponses", asyncTools=said)
    assert has_async_tools(written, "gpt-6-astra") is has_async_tools(written, "llama") is said


def test_the_chat_api_has_no_such_tools() -> None:
    assert not has_async_tools(agent(), "gpt-6-astra")
