"""A model that is a Python function of the messages."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence

from errands_orchestrator.models.model import ModelRequest, Reply
from errands_orchestrator.models.seen import SeenMessage, seen


class FunctionModel:
    """Answers with what `answer` makes of the messages. `answer` may be async, and may raise ModelError."""

    def __init__(self, answer: Callable[[Sequence[SeenMessage]], Reply | Awaitable[Reply]]) -> None:
        self._answer = answer

    async def reply(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> Reply:
        """Ask the function; the whole text is heard at once."""
        answer = self._answer(seen(request))
        reply = await answer if inspect.isawaitable(answer) else answer
        if reply.text and on_text:
            on_text(reply.text)
        return reply

    async def close(self) -> None:
        """Nothing to give back."""
