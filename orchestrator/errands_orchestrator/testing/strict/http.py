"""As much of HTTP/1.1 as a test server needs, on asyncio streams."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from http.client import responses


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request that was read whole. Header names are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class ClientLeftError(Exception):
    """The client closed its connection."""


async def read_request(reader: asyncio.StreamReader) -> HttpRequest | None:
    """The next request of a connection, or None at its end."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    method, path, _ = first.split(" ", 2)
    return HttpRequest(method, path, headers, body)


class Response:
    """Writes one response. Notices when the client has left."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @property
    def client(self) -> str:
        """Address and port of the client."""
        return str(self._writer.get_extra_info("peername"))

    async def whole(
        self,
        status: int,
        body: bytes,
        content_type: str,
        headers: Iterable[tuple[str, str]] = (),
        sent: int | None = None,
    ) -> None:
        """A body of known length, of which only `sent` bytes are really sent if that is given."""
        await self._head(status, [("content-type", content_type), ("content-length", str(len(body))), *headers])
        await self._send(body[:sent])

    async def begin_stream(self) -> None:
        """The head of an event stream."""
        await self._head(200, [("content-type", "text/event-stream; charset=utf-8"), ("transfer-encoding", "chunked")])

    async def event(self, data: bytes) -> None:
        """One event of the stream."""
        text = b"data: " + data + b"\n\n"
        await self._send(b"%x\r\n%b\r\n" % (len(text), text))

    async def end_stream(self) -> None:
        """The regular end of the stream."""
        await self._send(b"0\r\n\r\n")

    async def wait_while_present(self, until: asyncio.Event | None, seconds: float | None = None) -> None:
        """Wait for the event, or the time. Raises ClientLeftError when the client leaves first."""
        left = asyncio.ensure_future(self._reader.read(1))
        come = asyncio.ensure_future((until or asyncio.Event()).wait())
        try:
            await asyncio.wait((left, come), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if left.done():
                raise ClientLeftError
        finally:
            left.cancel()
            come.cancel()
            await asyncio.wait((left, come))

    async def _head(self, status: int, headers: Iterable[tuple[str, str]]) -> None:
        lines = [f"HTTP/1.1 {status} {responses.get(status, 'Odd')}", *(f"{name}: {value}" for name, value in headers)]
        await self._send("\r\n".join([*lines, "", ""]).encode("latin-1"))

    async def _send(self, data: bytes) -> None:
        try:
            self._writer.write(data)
            await self._writer.drain()
        except ConnectionError:
            raise ClientLeftError from None
