"""Calls of a worker's tools without a model, and their stops as `errands calls cancel` asks for them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import redis

from bench.waiting import until
from errands_config import keys
from errands_config.settings import Settings
from errands_config.store import aio, broker_url, plain
from errands_config.wire import CallState
from errands_orchestrator import direct_call, reads
from errands_orchestrator.calls import cancel_call
from errands_orchestrator.dispatcher import Dispatcher

_LEAVING_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Stopped:
    """How a call that was asked to end did so."""

    seconds: float
    """From the wish to the call's end in the store, at which nothing of it runs unless it is unconfirmed."""
    state: str
    confirmed: bool
    process_lives: bool
    """Whether the process that ran it still does, a moment later."""


@dataclass(frozen=True, slots=True)
class PoolCalls:
    """Publishes calls and stops them."""

    settings: Settings
    store: reads.Store
    looking: redis.Redis
    dispatcher: Dispatcher

    async def begun(self, tool: str) -> str:
        """Call a tool; answers the call's id once the tool has said that it runs."""
        cid = await self.called(tool)
        await until(lambda: self.looking.xlen(keys.progress(cid)) > 1)
        return cid

    async def called(self, tool: str) -> str:
        """Call a tool."""
        await until(lambda: any(map(self._offers, self.looking.zrange(keys.WORKERS, 0, -1))))
        offer = await direct_call.offer_of(self.store, tool)
        sid = await direct_call.made_session(self.store, offer)
        return (await direct_call.published(self.store, self.settings, sid, offer, "{}")).call

    def _offers(self, incarnation: Any) -> bool:
        return bool(self.looking.exists(keys.catalogue(str(incarnation))))

    async def stopped(self, cid: str) -> Stopped:
        """Ask for its end, and wait for it."""
        wished = perf_counter()
        await cancel_call(self.store, cid, by="user", reason="enough", nudge=self.dispatcher.nudge)
        await self.ended(cid)
        seconds = perf_counter() - wished
        told: Any = self.looking.hmget(keys.call(cid), "state", "confirmed", "pid")
        await asyncio.sleep(_LEAVING_SECONDS)
        return Stopped(seconds, told[0], told[1] != "false", _lives(told[2]))

    async def ended(self, cid: str) -> None:
        """Wait for the end of a call."""
        await until(lambda: CallState(str(self.looking.hget(keys.call(cid), "state"))).is_final)


@asynccontextmanager
async def pool_calls(settings: Settings) -> AsyncGenerator[PoolCalls]:
    """Connections for the time of the block."""
    store, dispatcher = aio(settings), Dispatcher(broker_url(settings))
    try:
        with plain(settings) as looking:
            yield PoolCalls(settings, store, looking, dispatcher)
    finally:
        dispatcher.close()
        await store.aclose()


def _lives(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False
