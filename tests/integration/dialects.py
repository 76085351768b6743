"""A session whose model is the strict endpoint, in each dialect, and what the endpoint was sent."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, cast

from tests.stub import Received, Say, StubServer

from errands_config.settings import Settings
from errands_orchestrator.ownership import Ownership
from errands_orchestrator.service import orchestrator

CHAT: dict[str, Any] = {}
NATIVE: dict[str, Any] = {"flavor": "OpenAIResponses", "asyncTools": True}
EMULATED: dict[str, Any] = {"flavor": "OpenAIResponses"}
"""A model that has no asynchronous tools."""

Item = dict[str, Any]


def speaking(*says: Say) -> Callable[[Received], Say]:
    """Says these one after another, one a request, and then that all is told."""

    def answer(received: Received) -> Say:
        return says[received.number - 1] if received.number <= len(says) else Say("all is told")

    return answer


def asking(settings: Settings, stub: StubServer) -> AbstractAsyncContextManager[Ownership]:
    """An orchestrator whose agents ask this endpoint, with the key in OPENAI_API_KEY."""
    return orchestrator(settings.model_copy(update={"model": "strict", "model_url": stub.url}), logs=False)


def sent(stub: StubServer) -> list[list[Item]]:
    """The messages, or items, of each request."""
    return [cast("list[Item]", entry.messages) for entry in stub.journal]


def outputs(items: list[Item]) -> list[tuple[str, str]]:
    """The calls that are answered in these messages or items, in their order, each with the answer."""
    chat = [(item["tool_call_id"], item["content"]) for item in items if item.get("role") == "tool"]
    return chat or [(it["call_id"], it["output"]) for it in items if it.get("type") == "function_call_output"]


def texts_of(items: list[Item]) -> list[str]:
    """What stands in the user messages."""
    return [item["content"] for item in items if item.get("role") == "user"]
