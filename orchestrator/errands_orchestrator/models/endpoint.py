"""One OpenAI-compatible HTTP endpoint: prepared bytes out, decoded documents in, every failure a ModelError.

The client is that of the `openai` package, for its transport, headers and environment. Its request objects are left
aside: they walk through every message of every request, which at a thousand messages blocks the loop for half a second.
It repeats nothing; who asks decides about that.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import httpx2
import openai
from pydantic import SecretStr

from errands_config.errors import ConfigError, ModelError
from errands_orchestrator.models.failures import Failures, no_key, unusable_key
from errands_orchestrator.models.pieces import AnswerError

_CONNECT_SECONDS = 10.0


class Endpoint:
    """A connection pool to one endpoint. Usable from one event loop."""

    def __init__(self, *, url: str | None, key: SecretStr | None, timeout_seconds: float) -> None:
        """Connects to nothing yet. What is None comes from OPENAI_BASE_URL and OPENAI_API_KEY.

        `timeout_seconds` bounds a whole exchange. Raises ModelError without a usable key, ConfigError for a bad URL.
        """
        self._client = openai.AsyncOpenAI(
            api_key=_checked_key(key),
            base_url=url,
            max_retries=0,
            timeout=openai.Timeout(timeout_seconds, connect=min(_CONNECT_SECONDS, timeout_seconds)),
        )
        self._timeout_seconds = timeout_seconds
        self._failures = Failures(_checked_address(self._client.base_url), SecretStr(self._client.api_key))

    async def exchange(self, path: str, body: bytes, take: Callable[[object], None]) -> None:
        """Post `body` and hand every JSON document of the answer to `take`: one, or the pieces of an event stream.

        Raises ModelError for every failure, also when `take` raises AnswerError.
        """
        try:
            async with asyncio.timeout(self._timeout_seconds):
                await self._exchange(path, body, take)
        except (openai.APITimeoutError, httpx2.TimeoutException, TimeoutError):
            failure = self._failures.late(self._timeout_seconds)
        except openai.APIStatusError as error:
            failure = self._failures.refused(error.status_code, error.response.headers, error.body)
        except openai.APIConnectionError as error:
            failure = self._failures.unreachable(_reason(error))
        except AnswerError as error:
            failure = self._failures.garbage(str(error))
        else:
            return
        # raised out here so that no error of the client, which knows the key, hangs on to it
        raise failure

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()

    async def _exchange(self, path: str, body: bytes, take: Callable[[object], None]) -> None:
        stream = await self._client.post(
            path, content=body, cast_to=object, stream=True, stream_cls=openai.AsyncStream[object]
        )
        async with stream:
            if "event-stream" in stream.response.headers.get("content-type", ""):
                await self._read_events(stream, take)
            else:
                self._take_whole(await _body_of(stream.response), take)
