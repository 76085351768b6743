"""What a type checker must refuse in a test suite for an agent; see `application_mistakes.py`."""

from collections.abc import Sequence

from errands_orchestrator.testing import FunctionModel, Say, ScriptTurn, SeenMessage, StrictEndpoint, errands


def no_reply(messages: Sequence[SeenMessage]) -> str:
    """A function that is no model."""
    return messages[0].text


async def mistakes(strict_model: StrictEndpoint) -> None:
    """One mistake a line."""
    FunctionModel(no_reply)  # pyright: ignore[reportArgumentType]
    ScriptTurn(say="hello", finish="over")  # pyright: ignore[reportArgumentType]
    strict_model.program(["hello"])  # pyright: ignore[reportArgumentType]
    Say(calls=("count_words",))  # pyright: ignore[reportArgumentType]
    async with errands("agent.json", "a model") as tested:  # pyright: ignore[reportArgumentType]
        await tested.run()  # pyright: ignore[reportCallIssue]
