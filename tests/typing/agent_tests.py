"""What a type checker knows of a test suite for an agent: read by pyright, never run."""

from collections.abc import Sequence
from pathlib import Path
from typing import assert_type

from errands_orchestrator import Client, Run
from errands_orchestrator.testing import (
    Call,
    FunctionModel,
    ModelCall,
    Reply,
    Say,
    ScriptCall,
    ScriptedModel,
    ScriptTurn,
    SeenMessage,
    StrictEndpoint,
    errands,
    no_real_requests,
    scripted_model,
    strict_model,
)


def quick(messages: Sequence[SeenMessage]) -> Reply:
    """A model that is a function."""
    assert_type(messages[-1].text, str)
    return Reply("", (ModelCall("c1", "count_words", "{}"),), "tool_calls")


async def slow(messages: Sequence[SeenMessage]) -> Reply:
    """One that is awaited."""
    return Reply(messages[0].role)


async def whole() -> None:
    """A deployment for one agent."""
    async with errands("agent.json", FunctionModel(quick)) as tested:
        assert_type(await tested.run("hello"), str)
        assert_type(await tested.run_until_blocked("hello"), Run)
        assert_type(tested.client, Client)
    async with errands(Path("agent.json"), FunctionModel(slow)):
        pass
    turn = ScriptTurn(say="counting", calls=(ScriptCall(name="count_words", arguments={"text": "a"}),))
    async with errands("agent.json", ScriptedModel([turn])), errands("agent.json", scripted_model(Path("script.json"))):
        pass
    with no_real_requests():
        pass


async def strict(strict_model: StrictEndpoint) -> None:
    """The strict endpoint, as the fixture gives it."""
    strict_model.program([Say("hello"), Say(calls=(Call("count_words"),))])
    async with errands("agent.json", strict_model.model(stream=True)):
        assert_type(strict_model.refusals, list[str])


assert strict_model
