"""The endpoint as a server: one thread with an event loop, a journal of what came, and answers as it was told."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Self, TypeAlias, cast

from pydantic import SecretStr

from errands_orchestrator.models.chat import ChatModel, chat_model
from errands_orchestrator.models.real_requests import endpoint_of_tests
from errands_orchestrator.models.responses import ResponsesModel, responses_model
from errands_orchestrator.testing.strict.answers import Answer
from errands_orchestrator.testing.strict.giving import give
from errands_orchestrator.testing.strict.http import ClientLeftError, HttpRequest, Response, read_request
from errands_orchestrator.testing.strict.journal import Outcome, Received
from errands_orchestrator.testing.strict.prefix import Prefixes
from errands_orchestrator.testing.strict.refusal import RefusedError
from errands_orchestrator.testing.strict.request import check_request
from errands_orchestrator.testing.strict.response_request import check_response_request

STRICT_KEY = "sk-strict-5d1c0f"

_CHECKS: Mapping[tuple[str, str], Callable[[bytes], dict[str, object]]] = {
    ("POST", "/v1/chat/completions"): check_request,
    ("POST", "/v1/responses"): check_response_request,
}

Answers: TypeAlias = Sequence[Answer] | Callable[[Received], Answer]


class StrictEndpoint:
    """Serves `POST {url}/chat/completions` and `POST {url}/responses` on 127.0.0.1.

    Use it as a context manager, or `start` and `stop` it.
    """

    def __init__(
        self,
        answers: Answers = (),
        *,
        key: str = STRICT_KEY,
        stable_prefix: bool = True,
        port: int = 0,
        on_end: Callable[[Received], None] | None = None,
    ) -> None:
        """`answers` are given in order, one a request that is not refused; or a function of the request gives them.

        With `stable_prefix` a request is refused when the bytes of its earlier messages or of its tools are not those
        of the conversation's earlier requests. `on_end` hears of each request when it is over, in a thread of its own.
        """
        self.journal: list[Received] = []
        """Every request, also the refused ones."""
        self._key = key
        self._prefixes = Prefixes() if stable_prefix else None
        self._port = port
        self._on_end = on_end
        self._loop: asyncio.AbstractEventLoop
        self._thread = threading.Thread(target=self._run, name="strict-endpoint", daemon=True)
        self._ready = threading.Event()
        self._stopped = asyncio.Event()
        self._released = asyncio.Event()
        self._connections: set[asyncio.Task[None]] = set()
        self.program(answers)

    @property
    def url(self) -> str:
        """The base URL for clients."""
        return f"http://127.0.0.1:{self._port}/v1"

    def model(self, *, stream: bool = False) -> ChatModel:
        """A model that asks this endpoint, for an agent that is to be tested. `stream`: in pieces."""
        return chat_model(url=self.url, key=SecretStr(self._key), stream=stream)

    def responses_model(self, *, stream: bool = False) -> ResponsesModel:
        """The same for an agent with `"flavor": "OpenAIResponses"`."""
        return responses_model(url=self.url, key=SecretStr(self._key), stream=stream)

    @property
    def environment(self) -> dict[str, str]:
        """The variables that lead a process to this endpoint, past any proxy."""
        return {
            "OPENAI_BASE_URL": self.url,
            "OPENAI_API_KEY": self._key,
            "ERRANDS_MODEL": "strict",
            "NO_PROXY": "127.0.0.1",
        }

    @property
    def refusals(self) -> list[str]:
        """Why requests were refused, in order."""
        return [entry.refusal for entry in self.journal if entry.refusal]

    def program(self, answers: Answers) -> None:
        """Replace what is answered from now on."""
        self._answer_for = answers if callable(answers) else _InOrder(answers)

    def release(self) -> None:
        """Let every held answer go, and those that come later."""
        self._loop.call_soon_threadsafe(self._released.set)

    def start(self) -> Self:
        """Listen. Returns when requests can come."""
        self._thread.start()
        self._ready.wait()
        return self

    def stop(self) -> None:
        """Close every connection and end the thread."""
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        server = await asyncio.start_server(self._connected, "127.0.0.1", self._port)
        self._port = server.sockets[0].getsockname()[1]
        with endpoint_of_tests(self.url):
            self._ready.set()
            await self._stopped.wait()
        server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = cast("asyncio.Task[None]", asyncio.current_task())
        self._connections.add(task)
        try:
            while (request := await read_request(reader)) and await self._respond(request, Response(reader, writer)):
                pass
        except asyncio.CancelledError:
            pass  # the endpoint stops
        finally:
            self._connections.discard(task)
            writer.close()

    async def _respond(self, request: HttpRequest, response: Response) -> bool:
        """Answer one request; whether the connection can take another."""
        number = len(self.journal) + 1
        entry = Received(number, response.client, request.headers, request.body, time.monotonic(), request={})
        self.journal.append(entry)
        outcome: Outcome = "stopped"
        try:
            outcome = await self._judge(request, entry, response)
        except ClientLeftError:
            outcome = "client left"
        finally:
            entry.ended = time.monotonic()
            entry.outcome = outcome
            if self._on_end:
                self._on_end(entry)
        return outcome in ("answered", "refused")

    async def _judge(self, request: HttpRequest, entry: Received, response: Response) -> Outcome:
        try:
            entry.request = self._checked(request)
            answer = self._answer_for(entry)
        except RefusedError as refused:
            entry.refusal = refused.message
            await response.whole(refused.status, refused.body(), "application/json")
            return "refused"
        return await give(answer, entry, response, self._released)

    def _checked(self, request: HttpRequest) -> dict[str, object]:
        check = _CHECKS.get((request.method, request.path))
        if check is None:
            raise RefusedError(f"Unknown request URL: {request.method} {request.path}", code="unknown_url", status=404)
        if request.headers.get("authorization") != f"Bearer {self._key}":
            raise RefusedError("Incorrect API key provided.", code="invalid_api_key", status=401)
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            raise RefusedError("The body must be of type application/json.", code="invalid_content_type")
        checked = check(request.body)
        if self._prefixes:
            self._prefixes.check(request.body)
        return checked


class _InOrder:
    """The answers of a list, one after another."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        self._answers = iter(answers)

    def __call__(self, received: Received) -> Answer:
        try:
            return next(self._answers)
        except StopIteration:
            raise RefusedError(
                f"The test has no answer left for request {received.number}.", code="no_answer_left"
            ) from None
