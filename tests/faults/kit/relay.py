"""A loopback proxy in front of the store for one process, by which its connections can be watched, held and cut."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar, cast

from tests.faults.kit.link import Caught, Link, Side, Trap

T = TypeVar("T")

_SUBSCRIBED = re.compile(rb"errands:owner:[0-9a-f-]+")


class Relays:
    """The loop, in a thread of its own, that all relays of a run share."""

    def __init__(self) -> None:
        self._relays: list[Relay] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="relays", daemon=True)
        self._thread.start()

    def relay(self, store: Path) -> Relay:
        """A new relay to the store's socket."""
        relay = Relay(self, store)
        self.do(relay.open())
        self._relays.append(relay)
        return relay

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Run this in the loop and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    def call(self, act: Callable[[], object]) -> None:
        """Have the loop do this soon."""
        self._loop.call_soon_threadsafe(act)

    def close(self) -> None:
        """Break every connection and end the thread."""
        for relay in self._relays:
            self.do(relay.close())
        self.call(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Relay:
    """One process's way to the store. Its methods are for the thread that makes the faults."""

    def __init__(self, relays: Relays, store: Path) -> None:
        self._relays = relays
        self._store = store
        self._links: set[Link] = set()
        self._handlers: set[asyncio.Task[None]] = set()
        self._flow = asyncio.Event()
        self._flow.set()
        self._refuses = False
        self._trap: Trap | None = None
        self._port = 0
        self.channels: set[str] = set()
        """Every channel on which a process behind this relay has listened for the sessions that it owns."""

    @property
    def url(self) -> str:
        """Where the process finds the store."""
        return f"redis://127.0.0.1:{self._port}/0"

    async def open(self) -> None:
        """Listen. From the loop."""
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self._port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Break every connection and take no more. From the loop."""
        self._server.close()
        self._refuses = True
        await asyncio.sleep(0.05)  # what was accepted just now begins, and is refused
        for handler in self._handlers:
            handler.cancel()
        await asyncio.gather(*self._handlers, return_exceptions=True)

    # ---- what can be done to it

    def trap(self, needle: str, side: Side) -> Trap:
        """Have the next command with these bytes stopped. There is one trap at a time."""
        self._trap = Trap(needle.encode(), side)
        return self._trap

    def let_go(self, trap: Trap) -> None:
        """Take a trap away, and let what was caught in it go on."""
        if self._trap is trap:
            self._trap = None
        self._relays.call(trap.release)

    def hold_all(self) -> None:
        """Nothing passes from now on."""
        self._relays.call(self._flow.clear)

    def pass_all(self) -> None:
        """Everything passes again."""
        self._relays.call(self._flow.set)

    def reset_all(self, *, refuse: bool) -> None:
        """Break every connection with a reset; new ones are refused until `accept` if that is wanted."""
        self._refuses = refuse
        self._relays.call(lambda: [link.reset() for link in list(self._links)])

    def accept(self) -> None:
        """Take new connections again."""
        self._refuses = False

    def swallow_all(self) -> None:
        """Every connection there is becomes half-open; new ones work."""
        self._relays.call(lambda: [link.swallow() for link in list(self._links)])

    # ---- inside

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = cast("asyncio.Task[None]", asyncio.current_task())
        self._handlers.add(task)
        try:
            await self._carry(reader, writer)
        except asyncio.CancelledError:
            pass  # the relay is closed
        finally:
            self._handlers.discard(task)
            writer.transport.abort()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._refuses:
            return
        try:
            store = await asyncio.open_unix_connection(str(self._store))
        except OSError:
            return
        link = Link((reader, writer), store, self._flow, self._sprung)
        self._links.add(link)
        try:
            await link.carry()
        finally:
            self._links.discard(link)

    def _sprung(self, data: bytes, from_store: bool) -> Trap | None:
        if not from_store and b"SUBSCRIBE" in data:
            self.channels |= {name.decode() for name in _SUBSCRIBED.findall(data)}
        trap = self._trap
        if trap is None or (trap.side == "push") is not from_store or trap.needle not in data:
            return None
        self._trap = None
        return trap


__all__ = ["Caught", "Relay", "Relays", "Trap"]
