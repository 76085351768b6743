"""The store that a command works on: the one that is set, or the embedded one while the command needs it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from errands_config.embedded import EmbeddedStore
from errands_config.settings import Settings, load_settings
from errands_config.store import aio, ping, translated
from errands_orchestrator.reads import Store

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reached:
    """A store that answered. `settings` name it; `embedded` is set where it is our own."""

    settings: Settings
    embedded: EmbeddedStore | None

    async def revive(self) -> None:
        """Start our own store again if it died. Another one comes back by itself."""
        if self.embedded:
            await asyncio.to_thread(self.embedded.revive)


@contextmanager
def reached(settings: Settings) -> Generator[Reached]:
    """Have a store inside the block. Raises StoreUnreachable, also where the store goes away meanwhile."""
    if settings.redis_url is not None:
        with translated(settings):
            ping(settings)
            yield Reached(settings, None)
        return
    with EmbeddedStore(settings.home, settings.durability) as embedded, translated(settings):
        yield Reached(settings.at(embedded.url), embedded)


def with_store(work: Callable[[Store, Reached], Awaitable[T]]) -> T:
    """Do some asynchronous work on the store."""
    with reached(load_settings()) as there:
        return asyncio.run(_connected(there, work))


async def _connected(there: Reached, work: Callable[[Store, Reached], Awaitable[T]]) -> T:
    async with aio(there.settings) as connection:
        return await work(connection, there)
