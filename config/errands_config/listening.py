"""Hearing what is published on a channel: on a connection of its own, which is known to be alive."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NoReturn

import redis.asyncio
from redis.exceptions import ConnectionError, TimeoutError  # noqa: A004

from errands_config.aio_connections import OurConnection
from errands_config.resp import Answer, packed
from errands_config.shared_connection import Wire

PING_SECONDS = 2.0
SILENT_SECONDS = 5.0
"""A connection on which neither a message nor the answer to a ping came for so long is lost."""


class _Ear(Wire):
    def __init__(self, connection: OurConnection, hear: Callable[[str], None]) -> None:
        super().__init__(connection)
        self._hear = hear
        self.ended: asyncio.Future[None] = self.loop.create_future()

    def take(self, answer: Answer) -> None:
        match answer:
            case ["message", _, str(text)]:
                self._hear(text)
            case Exception():
                self.end(answer)
            case _:
                pass

    def check(self) -> None:
        """Ask for a sign of life; the connection ends if the last ones did not come."""
        if self.loop.time() - self.heard_at > SILENT_SECONDS:
            self.end(TimeoutError("Timeout reading from socket"))
        else:
            self.transport.write(packed("PING"))

    def fail(self, error: Exception) -> None:
        if not self.ended.done():
            self.ended.set_exception(error)


async def listen(client: redis.asyncio.Redis, channel: str, hear: Callable[[str], None]) -> NoReturn:
    """Call `hear` with each message until the connection is lost; raises redis' error that says how."""
    connection = client.connection_pool.make_connection()
    assert isinstance(connection, OurConnection)
    await connection.connected()
    ear = _Ear(connection, hear)
    ear.transport.write(packed("SUBSCRIBE", channel))
    try:
        while True:
            await asyncio.wait({ear.ended}, timeout=PING_SECONDS)
            if ear.ended.done():
                await ear.ended
            ear.check()
    finally:
        ear.end(ConnectionError("Connection closed by client."))
        ear.ended.exception()
