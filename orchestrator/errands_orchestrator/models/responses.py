"""A model behind an endpoint that speaks OpenAI's Responses API.

Every request has the whole conversation and asks the endpoint to keep none of it: the session's log is the only truth.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pydantic import SecretStr

from errands_orchestrator.models.body import request_body
from errands_orchestrator.models.chat import TIMEOUT_SECONDS
from errands_orchestrator.models.composition import Composition
from errands_orchestrator.models.model import ModelRequest, Reply

if TYPE_CHECKING:
    from errands_orchestrator.models.endpoint import Endpoint


class ResponsesModel:
    """Answers requests through one endpoint. Repeats nothing by itself."""

    def __init__(self, endpoint: Endpoint, *, stream: bool) -> None:
        """`stream` asks for the answer in pieces; what comes is read in either form."""
        self._endpoint = endpoint
        self._stream = stream

    async def reply(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> Reply:
        """Answer the request. Raises ModelError."""
        body = request_body(request, stream=self._stream, list_name="input", also=b',"store":false')
        return await self._endpoint.exchange("/responses", body, Composition(on_text))

    async def close(self) -> None:
        """Close the endpoint's connections."""
        await self._endpoint.close()


def responses_model(
    *,
    url: str | None = None,
    key: SecretStr | None = None,
    timeout_seconds: float = TIMEOUT_SECONDS,
    stream: bool = False,
    forbidden: bool = False,
) -> ResponsesModel:
    """A model at `url` with `key`, with the same parameters, and errors, as `chat_model`."""
    # imported here for the reason that `chat_model` has
    from errands_orchestrator.models.endpoint import Endpoint

    endpoint = Endpoint(url=url, key=key, timeout_seconds=timeout_seconds, forbidden=forbidden, form="response")
    return ResponsesModel(endpoint, stream=stream)
