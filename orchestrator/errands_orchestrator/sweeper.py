"""Looks after what nobody else ends: lost workers, calls nobody claims, deadlines, messages that got lost.

Any number of sweepers may run: each transition is a script that one of them wins.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import TypeVar

import structlog
from redis.exceptions import ResponseError

from errands_config import keys
from errands_config.defects import where_raised
from errands_config.scripts import calls as call_scripts
from errands_config.scripts import sessions as session_scripts
from errands_config.scripts import workers as worker_scripts
from errands_config.scripts.calls import Republish
from errands_config.scripts.script import arun
from errands_orchestrator import reads
from errands_orchestrator.calls import Nudge, place_of
from errands_orchestrator.catalogue import live_offers
from errands_orchestrator.dispatcher import Dispatcher, repeated_publication

log = structlog.get_logger()
T = TypeVar("T")

AT_ONCE = 200
GAP_SECONDS = 2.0
"""A sweeper that itself stood still for longer starts every watch again."""


@dataclass(frozen=True, slots=True)
class Watched:
    """A beat that stands still, and since when on this process's monotonic clock."""

    beat: float
    since: float


class LostWorkers:
    """Believes only what it has watched: a beat that stood still, counted while the store answered."""

    def __init__(self, patience_seconds: float) -> None:
        self._patience = patience_seconds
        self._watched: dict[str, Watched] = {}
        self._looked = 0.0
        self._store = ""

    def start_again(self) -> None:
        """Forget every watch: the store was away, or is another process."""
        self._watched.clear()

    def look(self, beats: dict[str, float], run_id: str, now: float) -> list[str]:
        """The incarnations whose beat stood still for too long."""
        if now - self._looked > GAP_SECONDS or run_id != self._store:
            self.start_again()
        self._looked, self._store = now, run_id
        self._watched = {worker: self._seen(worker, beat, now) for worker, beat in beats.items()}
        return [worker for worker, seen in self._watched.items() if now - seen.since >= self._patience]

    def _seen(self, worker: str, beat: float, now: float) -> Watched:
        before = self._watched.get(worker)
        return before if before is not None and before.beat == beat else Watched(beat, now)


class Sweeper:
    """One look at everything; the service repeats it."""

    def __init__(
        self,
        store: reads.Store,
        dispatcher: Dispatcher,
        nudge: Nudge,
        lost_after_seconds: float,
        *,
        elsewhere: bool = False,
    ) -> None:
        self._store = store
        self._dispatcher = dispatcher
        self._nudge = nudge
        self._elsewhere = elsewhere
        self._run_id = self._met = ""
        self._lost = LostWorkers(lost_after_seconds)

    async def sweep(self) -> None:
        """Settle lost workers, end or ask overdue calls, publish again what got lost."""
        await self._settle_lost()
        await self._end_overdue()
        await self._repeat_lost_messages()

    def store_failed(self) -> None:
        """A look failed: no beat could be believed meanwhile."""
        self._lost.start_again()

    # ---- lost workers

    async def _settle_lost(self) -> None:
        beats = await reads.scores(self._store, keys.WORKERS)
        run_id = str((await self._store.info("server"))["run_id"])
        if run_id != self._run_id:
            await self._meet()
            self._run_id = run_id
        for worker in self._lost.look(beats, run_id, time.monotonic()):
            if await arun(self._store, worker_scripts.settle(worker, f"{beats[worker]:.0f}")) == "settled":
                log.warning("worker.lost", worker=worker)
        for worker in await reads.ranked(self._store, keys.SETTLED):
            await self._settle_calls(worker)

    async def _meet(self) -> None:
        """Say so if this is another store than before, whose records refuse what was held of the old one."""
        met = await arun(self._store, worker_scripts.meet())
        if self._met and met != self._met:
            log.error("store.replaced")
            self._lost.start_again()
        self._met = met

    async def _settle_calls(self, worker: str) -> None:
        for cid in await reads.field_names(self._store, keys.worker_calls(worker)):
            await _alone(self._settle_one(worker, cid), call=cid)

    async def _settle_one(self, worker: str, cid: str) -> None:
        place = await place_of(self._store, cid)
        if place is None:
            await reads.drop_field(self._store, keys.worker_calls(worker), cid)
            return
        settle = call_scripts.settle_call(place, worker, reason="its worker was lost", confirmed=False)
        await arun(self._store, settle)

    # ---- overdue calls

    async def _end_overdue(self) -> None:
        overdue = await arun(self._store, session_scripts.peek(AT_ONCE, keys.WATCH))
        if not overdue.members:
            return
        offered = {live.offer.name for live in await live_offers(self._store)}
        asked = [cid for cid in overdue.members if await _alone(self._end_one(cid, offered), call=cid)]
        if asked:
            await self._nudge(asked)

    async def _end_one(self, cid: str, offered: set[str]) -> bool:
        """True: the call runs, and its worker is asked to end it."""
        place = await place_of(self._store, cid)
        if place is None:
            await self._store.zrem(keys.WATCH, cid)
            return False
        answer = await arun(self._store, call_scripts.overdue(place, offered=place.tool in offered))
        return answer.outcome == "asked"

    # ---- lost messages

    async def _repeat_lost_messages(self) -> None:
        again: list[Republish] = []
        for queue in await reads.members(self._store, keys.QUEUES):
            again += await _alone(self._lost_messages(queue), queue=queue) or []
        if again:
            log.info("messages.repeated", count=len(again))
            await self._dispatcher.publish([repeated_publication(one) for one in again])

    async def _lost_messages(self, queue: str) -> list[Republish]:
        """Oldest publication first; the first that needs no repeat ends the look."""
        found: list[Republish] = []
        for cid in await reads.ranked(self._store, keys.queued(queue), 0, AT_ONCE - 1):
            again = await arun(self._store, call_scripts.repeat(cid, queue, elsewhere=self._elsewhere))
            if again is None:
                break
            found.append(again)
        return found


async def _alone(look: Awaitable[T], **about: str) -> T | None:
    """One look that harms no other: what the store refuses of it, for a key of another's making, is told and left."""
    try:
        return await look
    except reads.AWAY:
        raise
    except ResponseError as refused:
        log.error("sweep.refused", error=type(refused).__name__, place=where_raised(refused), **about)
        return None
