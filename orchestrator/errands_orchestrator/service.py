"""An orchestrator process: the long-lived parts, started together and stopped together."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable
from contextlib import asynccontextmanager
from typing import Any

import structlog

from errands_config import keys, store
from errands_config.settings import Settings
from errands_orchestrator import reads
from errands_orchestrator.committing import Patience
from errands_orchestrator.definitions import Library, MakeModel
from errands_orchestrator.dispatcher import Dispatcher
from errands_orchestrator.ending import end_all
from errands_orchestrator.logs import BLOCK_SECONDS, EventLog
from errands_orchestrator.loop import Parts
from errands_orchestrator.models.choosing import choosing
from errands_orchestrator.ownership import CLOSE_SECONDS, LOOK_SECONDS, Ownership
from errands_orchestrator.publishing import publishing
from errands_orchestrator.retention import Retention
from errands_orchestrator.sessions import new_id
from errands_orchestrator.sweeper import Sweeper
from errands_orchestrator.transcripts import Transcripts

log = structlog.get_logger()

FORGET_SECONDS = 300.0
"""About the time between two looks at what is old enough to be deleted."""


@asynccontextmanager
async def orchestrator(
    settings: Settings, *, only: str | None = None, logs: bool = True, make_model: MakeModel | None = None
) -> AsyncGenerator[Ownership]:
    """Run an orchestrator inside the block. `only`: for that one session; `logs`: print events as log lines.

    `make_model` stands in for the models that agents name. What the block raises comes out as it is. A part that dies
    ends the block with its error, in an ExceptionGroup: a process that runs half of itself helps nobody.
    """
    models = make_model or choosing(settings)
    async with _parts(settings, models) as (parts, dispatcher), _connection(settings, LOOK_SECONDS) as listening:
        ownership = Ownership(parts, listening, only=only)
        elsewhere = settings.broker_url is not None
        sweeper = Sweeper(parts.store, dispatcher, parts.nudge, settings.lost_after_seconds, elsewhere=elsewhere)
        work: dict[str, Awaitable[None]] = {
            "look": ownership.look(), "hear": ownership.hear(), "renew": ownership.renew(),
            "listen": ownership.listen(), "sweep": _sweep(sweeper, parts.store, settings),
        }  # fmt: skip
        if only is None:
            work["forget"] = _forget(Retention(parts.store, settings))
        if logs:
            work["logs"] = _log(settings)
        failed: Exception | None = None
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_part(part), name=name) for name, part in work.items()]
            grace = 0.0
            try:
                yield ownership
                grace = CLOSE_SECONDS
            except Exception as raised:
                failed = raised
            finally:
                await ownership.close(grace)
                await end_all(tasks)
        if failed is not None:
            raise failed


async def _part(work: Awaitable[None]) -> None:
    await work


@asynccontextmanager
async def _connection(settings: Settings, block_seconds: float) -> AsyncGenerator[Any]:
    connection = store.aio_blocking(settings, block_seconds)
    try:
        yield connection
    finally:
        await connection.aclose()


@asynccontextmanager
async def _parts(settings: Settings, make_model: MakeModel) -> AsyncGenerator[tuple[Parts, Dispatcher]]:
    connection = store.aio(settings)
    dispatcher = Dispatcher(store.broker_url(settings))
    library = Library(connection, make_model, settings.shared_limits)
    parts = Parts(
        store=connection,
        library=library,
        transcripts=Transcripts(connection),
        nudge=dispatcher.nudge,
        after_commit=publishing(connection, dispatcher) if settings.broker_url else None,
        lease_ms=int(settings.lease_seconds * 1000),
        patience=Patience(settings.max_deferred_seconds, settings.max_question_seconds),
    )
    try:
        yield parts, dispatcher
    finally:
        dispatcher.close()
        await library.close()
        await connection.aclose()


async def _sweep(sweeper: Sweeper, connection: reads.Store, settings: Settings) -> None:
    """Sweep every so often, and at once when somebody asks for it."""
    async with _connection(settings, settings.sweep_seconds) as listening:
        while True:
            try:
                await sweeper.sweep()
                if await reads.pop_next(listening, keys.SWEEP, settings.sweep_seconds):
                    await connection.delete(keys.SWEEP)  # one sweep is for all who have asked by now
            except reads.AWAY as away:
                sweeper.store_failed()
                log.warning("sweep.failed", detail=str(away))
                await asyncio.sleep(settings.sweep_seconds)


async def _forget(retention: Retention) -> None:
    """Delete what is old: soon after the start, then every few minutes."""
    while True:
        # each process at times of its own, so that many do not look at once
        await asyncio.sleep(FORGET_SECONDS * (0.5 + os.getpid() % 100 / 100))
        try:
            await retention.look()
        except reads.AWAY as away:
            log.warning("store.away", detail=str(away))


async def _log(settings: Settings) -> None:
    async with _connection(settings, BLOCK_SECONDS) as connection:
        events = EventLog(connection, f"{settings.host}:{os.getpid()}:{new_id()}")
        opened = False
        while True:
            try:
                if not opened:
                    await events.open()
                    opened = True
                await events.print_some()
            except reads.AWAY as away:
                opened = False
                log.warning("store.away", detail=str(away))
                await asyncio.sleep(0.5)
