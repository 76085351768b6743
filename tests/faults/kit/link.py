"""One connection of a process, relayed to the store byte by byte, and the traps that it can run into."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Literal

_CHUNK_BYTES = 65_536
_CLOSE_WITH_RESET = struct.pack("ii", 1, 0)

Side = Literal["request", "answer", "push"]
"""A command on its way to the store, the answer to a command, or what the store sends unasked."""


@dataclass(frozen=True, slots=True)
class Caught:
    """A command that was stopped on its way, before the store has it or with its answer; or a message of the store."""

    link: Link
    command: bytes


class Trap:
    """Stops the next command or message with certain bytes, and its connection with it, until it is let go."""

    def __init__(self, needle: bytes, side: Side) -> None:
        self.needle = needle
        self.side: Side = side
        self.caught: Future[Caught] = Future()
        self._released = asyncio.Event()

    async def hold(self, link: Link, command: bytes) -> None:
        """Say what was caught, and wait until it is let go."""
        self.caught.set_result(Caught(link, command))
        await self._released.wait()

    def release(self) -> None:
        """Let it go on. From the loop's own thread."""
        self._released.set()


class Link:
    """Both directions of one connection. Every method is for the loop's thread."""

    def __init__(
        self,
        client: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        store: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        flow: asyncio.Event,
        sprung: Callable[[bytes, bool], Trap | None],
    ) -> None:
        """`flow` is cleared while nothing may pass.

        `sprung` answers the trap that a chunk runs into; its flag says whether the chunk comes from the store.
        """
        self._from_client, self._to_client = client
        self._from_store, self._to_store = store
        self._flow = flow
        self._sprung = sprung
        self._swallows = False
        self._on_answer: tuple[Trap, bytes] | None = None

    @property
    def client_port(self) -> int:
        """The process's end of the connection."""
        return int(self._to_client.get_extra_info("peername")[1])

    async def carry(self) -> None:
        """Relay until one side ends."""
        pumps = [asyncio.create_task(self._requests()), asyncio.create_task(self._answers())]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            if self._swallows:
                await pumps[0]  # the client cannot know that the store is gone
        finally:
            # before anything is awaited: this may be cancelled once more
            self._to_client.close()
            self._to_store.close()
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)

    def swallow(self) -> None:
        """Half-open: from now on nothing arrives on either side, and nothing says so."""
        self._swallows = True

    def reset(self) -> None:
        """Break it, so that the process sees a reset."""
        raw: socket.socket | None = self._to_client.get_extra_info("socket")
        with contextlib.suppress(OSError, AttributeError):
            if raw is not None:
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _CLOSE_WITH_RESET)
        self._to_client.transport.abort()
        self._to_store.transport.abort()

    async def _requests(self) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await self._from_client.read(_CHUNK_BYTES):
                trap = self._sprung(data, False)
                if trap and trap.side == "request":
                    await trap.hold(self, data)
                elif trap:
                    self._on_answer = (trap, data)
                await self._pass(data, self._to_store)

    async def _answers(self) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await self._from_store.read(_CHUNK_BYTES):
                if self._on_answer:
                    (trap, command), self._on_answer = self._on_answer, None
                    await trap.hold(self, command)
                elif trap := self._sprung(data, True):
                    await trap.hold(self, data)
                await self._pass(data, self._to_client)

    async def _pass(self, data: bytes, to: asyncio.StreamWriter) -> None:
        await self._flow.wait()
        if not self._swallows:
            to.write(data)
            await to.drain()
