"""The library's asyncio connections, made so that a cancel is never lost.

The library sends with `asyncio.wait_for`, and on Python 3.11 that swallows a cancel which comes as the send ends, that
is nearly always: the command returns as if nothing had been said, and a loop of commands can neither be cancelled nor
bounded by `asyncio.timeout`. `asyncio.timeout` around the send does the same and swallows nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import redis.asyncio
import redis.asyncio.connection as library


class OurConnection(library.AbstractConnection):
    """A connection of the library, but for how it sends."""

    async def send_packed_command(self, command: bytes | str | Iterable[bytes], check_health: bool = True) -> None:
        """As the library does it, but for `wait_for`."""
        if not self.is_connected:
            await self.connect_check_health(check_health=False)
        if check_health:
            await self.check_health()
        try:
            async with asyncio.timeout(self.socket_timeout):
                await self._send_packed_command(_pieces(command))
        except TimeoutError:
            await self.disconnect(nowait=True)
            raise redis.TimeoutError("Timeout writing to socket") from None
        except OSError as broken:
            await self.disconnect(nowait=True)
            raise redis.ConnectionError(f"Error while writing to socket: {broken}") from broken
        except BaseException:
            # a command that was sent in part makes the connection useless
            await self.disconnect(nowait=True)
            raise

    async def connected(self) -> None:
        """Connect and log in, once, leaving nothing behind if that fails. Raises the library's errors."""
        try:
            await self.connect_check_health(check_health=False, retry_socket_connect=False)
        except BaseException:
            await self.disconnect(nowait=True)
            raise

    def hand_over(self) -> asyncio.StreamWriter:
        """Give away what was connected and logged in; the connection is as if it were not. Keep what it answers."""
        writer = self._writer
        assert writer
        self._reader = self._writer = None
        return writer


def _pieces(command: bytes | str | Iterable[bytes]) -> Iterable[bytes]:
    if isinstance(command, str):
        return [command.encode()]
    return [command] if isinstance(command, bytes) else command


class _Tcp(OurConnection, library.Connection):
    pass


class _Tls(OurConnection, library.SSLConnection):
    pass


class _Unix(OurConnection, library.UnixDomainSocketConnection):
    pass


_OURS: dict[type[Any], type[OurConnection]] = {library.SSLConnection: _Tls, library.UnixDomainSocketConnection: _Unix}


def pool(url: str, **options: Any) -> redis.asyncio.BlockingConnectionPool:
    """A pool of such connections to the store at `url`; `options` as `BlockingConnectionPool.from_url` takes them."""
    read: dict[str, Any] = dict(library.parse_url(url))
    theirs = read.pop("connection_class", library.Connection)
    return redis.asyncio.BlockingConnectionPool(connection_class=_OURS.get(theirs, _Tcp), **read, **options)
