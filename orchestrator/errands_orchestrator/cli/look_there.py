"""Facts about the store and what stands in it, for `errands doctor`."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qsl, unquote, urlsplit

from redis.exceptions import ResponseError

from errands_config import keys
from errands_config.settings import Settings
from errands_config.store import aio, store_url
from errands_orchestrator import reads
from errands_orchestrator.catalogue import LiveOffer, live_offers
from errands_orchestrator.cli.checks.clock import ClockFacts, clock_findings
from errands_orchestrator.cli.checks.doors import DoorFacts, WayFacts, door_findings
from errands_orchestrator.cli.checks.finding import Finding
from errands_orchestrator.cli.checks.stepping import SteppingFacts, stepping_findings
from errands_orchestrator.cli.checks.store import Info, store_findings
from errands_orchestrator.cli.checks.workers import (
    LiveWorker,
    QueueFacts,
    catalogue_findings,
    queue_findings,
    worker_findings,
)
from errands_orchestrator.cli.reaching import reach_of

LOOKED_AT = 200
"""Most waiting calls of a queue that are looked at."""


async def found_there(settings: Settings) -> list[Finding]:
    """What there is to say about the store and what stands in it. Raises redis-py's errors when it goes away."""
    async with aio(settings) as store:
        began = await _reading(store)
        info = cast("Info", await store.info("everything"))
        config = await _config(store)
        offers = await live_offers(store)
        workers = await _workers(store, offers)
        queues = [await _queue(store, name) for name in await reads.members(store, keys.QUEUES)]
        return [
            *store_findings(info, config.get("appendfsync")),
            *door_findings(way_facts(settings), await _door(store, config)),
            *clock_findings(await _clock(store, began)),
            *stepping_findings(await _stepping(store)),
            *worker_findings(workers, int(settings.lost_after_seconds * 1000)),
            *queue_findings(queues, workers),
            *catalogue_findings(offers, {worker.id: worker.host for worker in workers}),
        ]


# ---- doors


def way_facts(settings: Settings) -> WayFacts:
    """The way to the store."""
    parts = urlsplit(store_url(settings))
    options = dict(parse_qsl(parts.query))
    if parts.scheme == "unix":
        socket = Path(unquote(parts.path))
        mode = socket.stat().st_mode if socket.exists() else None
        return WayFacts("unix", "here", str(socket), bool(parts.password), socket_mode=mode)
    return WayFacts(
        scheme="rediss" if parts.scheme == "rediss" else "redis",
        reach=reach_of(parts.hostname),
        place=f"{parts.hostname or 'localhost'}:{parts.port or 6379}",
        has_login=bool(parts.password) or "ssl_certfile" in options,
        verified=options.get("ssl_cert_reqs", "required") != "none",
    )


async def _config(store: reads.Store) -> Mapping[str, str]:
    """What the store tells of its configuration; nothing where it keeps that to itself, as managed ones do."""
    names = ("appendfsync", "bind", "port", "tls-port", "protected-mode")
    try:
        return cast("dict[str, str]", await cast("Any", store.config_get(*names)))
    except ResponseError:
        return {}


async def _door(store: reads.Store, config: Mapping[str, str]) -> DoorFacts:
    bind, protected = config.get("bind"), config.get("protected-mode")
    ports = {config.get("port", "?"), config.get("tls-port", "0")}
    try:
        user: str | None = await cast("Any", store.acl_whoami())
        default: Mapping[str, Sequence[str]] = await cast("Any", store.acl_getuser("default"))
        open_default = {"on", "nopass"} <= set(default["flags"])
    except ResponseError:
        user, open_default = None, None
    return DoorFacts(
        bind=None if bind is None else tuple(bind.split()),
        listens=ports != {"0"},
        protected=None if protected is None else protected == "yes",
        open_default=open_default,
        user=user,
    )


# ---- clock


@dataclass(frozen=True, slots=True)
class _Reading:
    """The same moment on three clocks, in ms."""

    store: float
    here: float
    steady: float


async def _reading(store: reads.Store) -> _Reading:
    before = time.monotonic()
    now = await reads.now_ms(store)
    half = (time.monotonic() - before) / 2
    return _Reading(now, (time.time() - half) * 1000, (time.monotonic() - half) * 1000)


async def _clock(store: reads.Store, began: _Reading) -> ClockFacts:
    newest = await _newest(store)
    now = await _reading(store)
    return ClockFacts(
        ahead=now.store - now.here,
        stepped=(now.store - began.store) - (now.steady - began.steady),
        newest=newest - now.store,
    )


async def _newest(store: reads.Store) -> float:
    """The latest moment that a record was written at."""
    sessions = await reads.newest_of_each(store, [(keys.SESSIONS, 0, 1), (keys.WORKERS, 0, 1)])
    events = await reads.newest(store, keys.EVENTS, 1)
    moments = [score for found in sessions for _, score in found] + [float(seq.split("-")[0]) for seq, _ in events]
    return max(moments, default=0)


# ---- sessions, workers, queues


async def _stepping(store: reads.Store) -> SteppingFacts:
    now = await reads.now_ms(store)
    overdue, session_score = await reads.passed(store, keys.DUE, now)
    unswept, call_score = await reads.passed(store, keys.WATCH, now)
    return SteppingFacts(
        orchestrators=len(await reads.channels(store, keys.channel("*"))),
        overdue=overdue,
        session_late_ms=now - session_score,
        unswept=unswept,
        call_late_ms=now - call_score,
    )


async def _workers(store: reads.Store, offers: Sequence[LiveOffer]) -> list[LiveWorker]:
    now = await reads.now_ms(store)
    beats = await reads.scores(store, keys.WORKERS)
    return [await _worker(store, worker, now - int(beat), offers) for worker, beat in beats.items()]


async def _worker(store: reads.Store, worker: str, silent_ms: int, offers: Sequence[LiveOffer]) -> LiveWorker:
    host, queues, slots = await reads.fields(store, keys.worker(worker), ("host", "queues", "slots"))
    offered = [live.offer for live in offers if live.worker == worker]
    # one that has not said yet what it serves serves at least the default queue and those of its tools
    served = queues.split(",") if queues else sorted({"default", *(offer.queue for offer in offered)})
    tools = frozenset(offer.name for offer in offered)
    return LiveWorker(worker, host or "unknown", tuple(served), slots or "?", silent_ms, tools)


async def _queue(store: reads.Store, name: str) -> QueueFacts:
    waiting = await reads.size(store, keys.queued(name))
    sent = dict(await reads.lowest(store, keys.queued(name), LOOKED_AT))
    records = await reads.fields_of_each(store, [keys.call(cid) for cid in sent], ("tool", "queued_at"))
    now = await reads.now_ms(store)
    ages = [now - int(queued_at or now) for _, queued_at in records]
    unsent = [age for age, moment in zip(ages, sent.values(), strict=True) if not moment]
    tools = [tool for tool, _ in records if tool]
    return QueueFacts(
        name=name,
        waiting=waiting,
        oldest_ms=max(ages, default=0),
        unpublished_ms=max(unsent, default=None),
        tools={tool: tools.count(tool) for tool in set(tools)},
    )
