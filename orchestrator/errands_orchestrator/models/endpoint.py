"""One OpenAI-compatible HTTP endpoint: prepared bytes out, decoded documents in, every failure a ModelError.

The client is that of the `openai` package, for its transport, headers and environment. Its request objects are left
aside: they walk through every message of every request, which at a thousand messages blocks the loop for half a second.
It repeats nothing; who asks decides about that.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from typing import Protocol

import httpx2
import openai
from pydantic import SecretStr

from errands_config.errors import ConfigError, ModelError
from errands_orchestrator.models.failures import Failures, no_key, unusable_key
from errands_orchestrator.models.model import Reply
from errands_orchestrator.models.pieces import AnswerError, ReportedError
from errands_orchestrator.models.real_requests import check_allowed

_CONNECT_SECONDS = 10.0


class Reading(Protocol):
    """An answer that is being read."""

    @property
    def is_finished(self) -> bool:
        """Whether all that matters is in."""
        ...

    def add(self, document: object) -> None:
        """Take in one decoded JSON document. Raises AnswerError."""
        ...

    def reply(self) -> Reply:
        """The whole answer. Raises AnswerError if it is not whole."""
        ...


class Endpoint:
    """A connection pool to one endpoint. Usable from one event loop."""

    def __init__(
        self,
        *,
        url: str | None,
        key: SecretStr | None,
        timeout_seconds: float,
        forbidden: bool = False,
        form: str = "chat completion",
    ) -> None:
        """Connects to nothing yet. What is None comes from OPENAI_BASE_URL and OPENAI_API_KEY.

        `timeout_seconds` bounds a whole exchange. `forbidden`: no request leaves, each is a ModelError.
        `form` names in errors what an answer should be.
        Raises ModelError without a usable key, ConfigError for a bad URL.
        """
        timeout = openai.Timeout(timeout_seconds, connect=min(_CONNECT_SECONDS, timeout_seconds))
        api_key = _checked_key(key)
        try:
            self._client = openai.AsyncOpenAI(api_key=api_key, base_url=url, max_retries=0, timeout=timeout)
        except httpx2.InvalidURL:
            raise _no_url() from None
        self._timeout_seconds = timeout_seconds
        self._forbidden = forbidden
        self._address = _checked_address(self._client.base_url)
        self._failures = Failures(self._address, SecretStr(api_key), form)

    async def exchange(self, path: str, body: bytes, reading: Reading) -> Reply:
        """Post `body`, hand every JSON document of the answer to `reading`, and return what it made of them.

        Raises ModelError for every failure, also when `reading` raises AnswerError. A failure behind the finish reason
        is none.
        """
        check_allowed(self._address, forbidden=self._forbidden)
        try:
            async with asyncio.timeout(self._timeout_seconds):
                await self._exchange(path, body, reading)
            return reading.reply()
        except (openai.APIError, httpx2.HTTPError, AnswerError, TimeoutError) as error:
            failure = self._failure(error)
        if reading.is_finished:
            return reading.reply()
        # raised out here so that no error of the client, which holds the request with its key, hangs on to it
        raise failure

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()

    async def _exchange(self, path: str, body: bytes, reading: Reading) -> None:
        stream = await self._client.post(
            path, content=body, cast_to=object, stream=True, stream_cls=openai.AsyncStream[object]
        )
        async with stream:
            # some endpoints stream without being asked, some never stream
            if "event-stream" in stream.response.headers.get("content-type", ""):
                async for document in _documents(stream):
                    reading.add(document)
            else:
                reading.add(await _whole(stream.response))

    def _failure(self, error: Exception) -> ModelError:
        match error:
            case openai.APITimeoutError() | httpx2.TimeoutException() | TimeoutError():
                return self._failures.late(self._timeout_seconds)
            case openai.APIStatusError():
                return self._failures.refused(error.status_code, error.response.headers, error.body)
            case ReportedError():
                return self._failures.reported(error.body)
            case AnswerError():
                return self._failures.garbage(str(error))
            case _:
                return self._failures.unreachable(str(error.__cause__ or error))


async def _documents(stream: openai.AsyncStream[object]) -> AsyncIterator[object]:
    """The documents of an event stream. Raises AnswerError where it breaks, ReportedError where it holds an error."""
    try:
        async for document in stream:
            yield document
    except openai.APITimeoutError:
        raise
    except openai.APIConnectionError as error:
        raise AnswerError(f"the stream broke off: {error.__cause__}") from error
    except openai.APIError as error:
        raise ReportedError(error.body) from error
    except (ValueError, RecursionError) as error:
        raise AnswerError(f"an event of the stream is not JSON: {error}") from error


async def _whole(response: httpx2.Response) -> object:
    """The body of an answer that is not streamed. Raises AnswerError if it breaks off or is not JSON."""
    try:
        return json.loads(await response.aread())
    except httpx2.TransportError as error:
        if isinstance(error, httpx2.TimeoutException):
            raise
        raise AnswerError(f"the answer broke off: {error}") from error
    except (ValueError, RecursionError) as error:
        kind = response.headers.get("content-type", "unknown")
        raise AnswerError(f"it is not JSON ({error}), but of content type {kind}") from error


def _checked_key(key: SecretStr | None) -> str:
    text = (key.get_secret_value() if key else os.environ.get("OPENAI_API_KEY", "")).strip()
    if not text:
        raise no_key()
    if not text.isascii() or not text.isprintable() or " " in text:
        raise unusable_key()
    return text


def _checked_address(url: httpx2.URL) -> str:
    """The address as it may be shown: without user, password and query."""
    if url.scheme not in ("http", "https") or not url.host:
        raise _no_url()
    return str(url.copy_with(username="", password="", query=None)).rstrip("/")


def _no_url() -> ConfigError:
    """Does not show what was given: a password may be in it."""
    return ConfigError(
        "this, or ERRANDS_MODEL_URL or OPENAI_BASE_URL in its place, is no http or https URL"
        " such as http://localhost:8000/v1",
        path="modelUrl",
    )
