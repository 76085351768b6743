"""A model behind any OpenAI-compatible chat endpoint."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pydantic import SecretStr

from errands_orchestrator.models.body import request_body
from errands_orchestrator.models.model import ModelRequest, Reply
from errands_orchestrator.models.stream import Assembly

if TYPE_CHECKING:
    from errands_orchestrator.models.endpoint import Endpoint

TIMEOUT_SECONDS = 600.0
"""Longest wait for a whole answer where nothing is said."""


class ChatModel:
    """Answers requests through one endpoint. Repeats nothing by itself."""

    def __init__(self, endpoint: Endpoint, *, stream: bool) -> None:
        """`stream` asks for the answer in pieces; what comes is read in either form."""
        self._endpoint = endpoint
        self._stream = stream

    async def reply(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> Reply:
        """Answer the request. Raises ModelError."""
        body = request_body(request, stream=self._stream, list_name="messages")
        return await self._endpoint.exchange("/chat/completions", body, Assembly(on_text))

    async def close(self) -> None:
        """Close the endpoint's connections."""
        await self._endpoint.close()


def chat_model(
    *,
    url: str | None = None,
    key: SecretStr | None = None,
    timeout_seconds: float = TIMEOUT_SECONDS,
    stream: bool = False,
    forbidden: bool = False,
) -> ChatModel:
    """A model at `url` with `key`; what is None comes from OPENAI_BASE_URL and OPENAI_API_KEY.

    `timeout_seconds` bounds a whole reply. Without `stream` the answer comes in one piece: every endpoint can do that,
    and none mixes up parallel calls in it. `forbidden`: it refuses every request.

    Raises ModelError without a usable key, ConfigError for a URL that is none.
    """
    # imported here: the openai package takes a second and 50 MB, and only who asks a model shall pay for it
    from errands_orchestrator.models.endpoint import Endpoint

    endpoint = Endpoint(url=url, key=key, timeout_seconds=timeout_seconds, forbidden=forbidden)
    return ChatModel(endpoint, stream=stream)
