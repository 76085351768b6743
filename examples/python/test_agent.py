"""Tests of the agent: a real store and a real worker, but no key and no network. Run them with: pytest test_agent.py"""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from errands_orchestrator.testing import (
    Call,
    FunctionModel,
    ModelCall,
    Reply,
    Say,
    SeenMessage,
    StrictEndpoint,
    errands,
    scripted_model,
    strict_model,
)

__all__ = ["strict_model"]  # a fixture; it may stand in conftest.py instead

AGENT = Path(__file__).parent / "agent.json"

SCRIPT = """[
    {"say": "I count.", "calls": [{"name": "count_words", "arguments": {"text": "to be", "seconds": 0}}]},
    {"when": "2 words", "say": "The text has 2 words."}
]"""


def test_the_agent_tells_what_its_tool_counted() -> None:
    async def run() -> str:
        async with errands(AGENT, scripted_model(SCRIPT)) as tested:
            return await tested.run("How many words has: to be?")

    assert asyncio.run(run()) == "The text has 2 words."


def test_a_slow_count_goes_on_in_the_background() -> None:
    seen: list[str] = []

    def model(messages: Sequence[SeenMessage]) -> Reply:
        seen.append(messages[-1].text)
        if len(seen) == 1:
            return Reply("", (ModelCall("c1", "count_words", '{"text": "to be", "seconds": 1.5}'),), "tool_calls")
        return Reply("I wait." if "2 words" not in seen[-1] else "2 words.")

    async def run() -> str:
        async with errands(AGENT, FunctionModel(model)) as tested:
            return await tested.run("How many words has: to be?")

    assert asyncio.run(run()) == "2 words."
    assert '"status":"running"' in seen[1]
    assert "count_words) completed:" in seen[2]


def test_the_real_api_would_take_every_request(strict_model: StrictEndpoint) -> None:
    strict_model.program([Say(calls=(Call("count_words", '{"text": "a", "seconds": 0}'),)), Say("One word.")])

    async def run() -> str:
        async with errands(AGENT, strict_model.model()) as tested:
            return await tested.run("How many words has: a?")

    assert asyncio.run(run()) == "One word."
    assert strict_model.journal[1].messages[-1]["content"] == "1 words"
