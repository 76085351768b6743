"""One asyncio connection for many commands: what is sent within one turn of the loop goes out in one write.

redis-py gives each command a connection, several timers and a switch of tasks for each part of its answer, which costs
more than the store itself does. Here it only connects and logs in. Answers come in the order of commands, so a command
that was cancelled keeps its place in the row until its answer has come.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

import redis.asyncio
from redis.asyncio.retry import Retry
from redis.exceptions import ConnectionError, InvalidResponse, TimeoutError  # noqa: A004

from errands_config.aio_connections import OurConnection
from errands_config.resp import Answer, Answers, Part, packed


class Wire(asyncio.Protocol):
    """What redis-py has connected, as long as it lasts. A subclass says what becomes of answers and of the end."""

    def __init__(self, connection: OurConnection) -> None:
        self.loop = asyncio.get_running_loop()
        self.is_open = True
        self.heard_at = self.loop.time()
        """When something last came, be it a part of an answer."""
        self._answers = Answers()
        self._writer = connection.hand_over()  # kept, because it closes what it writes to when it is collected
        self.transport = self._writer.transport
        self.transport.set_protocol(self)

    def take(self, answer: Answer) -> None:
        """Something came."""
        raise NotImplementedError

    def fail(self, error: Exception) -> None:
        """Nothing more will come."""
        raise NotImplementedError

    def data_received(self, data: bytes) -> None:
        """Read what came."""
        self.heard_at = self.loop.time()
        try:
            for answer in self._answers.feed(data):
                self.take(answer)
        except (InvalidResponse, ValueError, IndexError) as garbled:
            self.end(ConnectionError(f"not an answer of a store: {type(garbled).__name__}"))

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over, by somebody else's doing."""
        self.end(ConnectionError("Connection closed by server."))

    def end(self, error: Exception) -> None:
        """Close it, with this error for all who wait."""
        self.is_open = False
        self.transport.abort()
        self.fail(error)


class _Line(Wire):
    """A connection for commands."""

    def __init__(self, connection: OurConnection, seconds: float) -> None:
        """`seconds`: the longest wait in which nothing comes though an answer is due."""
        super().__init__(connection)
        self._seconds = seconds
        self._waiting: deque[tuple[float, asyncio.Future[Answer]]] = deque()
        self._watch: asyncio.TimerHandle | None = None
        self._has_sent = False
        """In this turn of the loop; whatever else comes in it goes out together at its end."""
        self._unsent: list[bytes] = []

    def ask(self, name: str, *parts: Part) -> Awaitable[Answer]:
        """Send a command; its answer, which is an exception if the store refused it."""
        self._write(packed(name, *parts))
        answer: asyncio.Future[Answer] = self.loop.create_future()
        self._waiting.append((self.loop.time(), answer))
        if self._watch is None:
            self._watch = self.loop.call_later(self._seconds, self._look)
        return answer

    def _write(self, command: bytes) -> None:
        if self._has_sent:
            self._unsent.append(command)
            return
        self.transport.write(command)
        self._has_sent = True
        self.loop.call_soon(self._write_rest)

    def _write_rest(self) -> None:
        self._has_sent = False
        if self._unsent and self.is_open:
            self.transport.write(b"".join(self._unsent))
        self._unsent.clear()

    def take(self, answer: Answer) -> None:
        """Hand it to who waits longest."""
        _, waiting = self._waiting.popleft()
        if not waiting.done():
            waiting.set_result(answer)

    def _look(self) -> None:
        """End a connection that is silent though an answer is due. A large one that comes in pieces may take long."""
        self._watch = None
        if not self._waiting:
            return
        asked, _ = self._waiting[0]
        due = max(asked, self.heard_at) + self._seconds
        if due <= self.loop.time():
            self.end(TimeoutError("Timeout reading from socket"))
        else:
            self._watch = self.loop.call_at(due, self._look)

    def fail(self, error: Exception) -> None:
        """Tell all who wait."""
        if self._watch:
            self._watch.cancel()
        while self._waiting:
            _, waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_exception(error)


class SharingClient(redis.asyncio.Redis):
    """The library's client; its commands share one connection. Pipelines and subscriptions have theirs from the pool.

    No command that blocks belongs here, since all others would wait behind it: see `BlockingClient`.
    """

    _line: _Line | None = None
    _connecting: asyncio.Task[_Line] | None = None

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        """As the library does it, with the pool's rule for repeats."""
        retry: Retry = self.connection_pool.connection_kwargs["retry"]
        answer = await retry.call_with_retry(lambda: self._ask(*args), _nothing_to_do)
        read: Callable[..., Any] | None = self.response_callbacks.get(args[0])
        options.pop("keys", None)  # the library's own note about the command
        return read(answer, **options) if read else answer

    async def _ask(self, name: str, *parts: Part) -> Answer:
        line = self._line
        if line is None or not line.is_open:
            line = await self._connected()
        answer = await line.ask(name, *parts)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def _connected(self) -> _Line:
        """Connect, once for all who ask meanwhile, even if the first of them is cancelled."""
        if self._connecting is None:
            self._connecting = asyncio.create_task(self._connect())
        return await asyncio.shield(self._connecting)

    async def _connect(self) -> _Line:
        connection = self.connection_pool.make_connection()
        assert isinstance(connection, OurConnection)
        try:
            await connection.connected()
            self._line = _Line(connection, self.connection_pool.connection_kwargs["socket_timeout"])
            return self._line
        finally:
            self._connecting = None

    async def aclose(self, close_connection_pool: bool | None = None) -> None:
        """Close everything."""
        if self._connecting:
            self._connecting.cancel()
            await asyncio.wait({self._connecting})
        self._hang_up()
        await super().aclose(close_connection_pool)

    def _hang_up(self) -> None:
        if self._line:
            self._line.end(ConnectionError("Connection closed by client."))


class BlockingClient(SharingClient):
    """A client for one reader, whose commands may block. One that is cancelled takes the connection with it."""

    async def _ask(self, name: str, *parts: Part) -> Answer:
        try:
            return await super()._ask(name, *parts)
        except asyncio.CancelledError:
            self._hang_up()
            raise


async def _nothing_to_do(_error: Exception) -> None:
    """A connection that failed has ended itself."""
