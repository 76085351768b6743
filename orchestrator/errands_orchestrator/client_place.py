"""Where a client works: its store, reached once and kept until the client is closed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import structlog

from errands_config.settings import Settings
from errands_config.store import aio
from errands_orchestrator import reads
from errands_orchestrator.cli.connecting import Reached, reached


@dataclass(frozen=True, slots=True)
class Place:
    """An open store. `there` names it and can revive an embedded one."""

    store: reads.Store
    there: Reached

    @property
    def settings(self) -> Settings:
        """The settings, with the store that was reached."""
        return self.there.settings


@asynccontextmanager
async def place(settings: Settings) -> AsyncGenerator[Place]:
    """Have the store inside the block, the embedded one if none is set. Raises StoreUnreachable, ConfigError."""
    _log_through_logging()
    store_reached = reached(settings)
    there = await asyncio.to_thread(store_reached.__enter__)
    try:
        async with aio(there.settings) as store:
            yield Place(store, there)
    finally:
        await asyncio.to_thread(store_reached.__exit__, None, None, None)


def _log_through_logging() -> None:
    """Let what is logged reach the application's `logging`, unless it has set up structlog by itself.

    As structlog comes, it prints every line on stdout, which belongs to the application.
    """
    if not structlog.is_configured():
        structlog.configure(
            processors=[
                structlog.processors.format_exc_info,
                structlog.processors.KeyValueRenderer(key_order=["event"]),
            ],
            wrapper_class=structlog.stdlib.BoundLogger,
            logger_factory=structlog.stdlib.LoggerFactory(),
        )
