"""`errands doctor`: look at everything that can be wrong, and say what to do."""

from __future__ import annotations

import asyncio
import importlib.util
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import cast

from redis.exceptions import ResponseError

from errands_config import keys
from errands_config.errors import ConfigError, StoreUnreachable
from errands_config.settings import Settings, load_settings
from errands_config.store import aio
from errands_orchestrator import reads
from errands_orchestrator.catalogue import LiveOffer, live_offers
from errands_orchestrator.cli.checks import (
    Finding,
    Info,
    LiveWorker,
    catalogue_findings,
    home_finding,
    queue_findings,
    store_findings,
    worker_findings,
)
from errands_orchestrator.cli.connecting import reached
from errands_orchestrator.cli.exit_codes import Exit
from errands_orchestrator.cli.output import AsJson, print_json, print_text

_MARKS = {"ok": "ok   ", "note": "note ", "wrong": "WRONG"}


def doctor(*, as_json: AsJson = False) -> int:
    """Look at this installation, the store, the workers and what they offer. Exit code 1 if something is wrong."""
    settings = load_settings()
    findings = [*_here(settings), *_there(settings)]
    if as_json:
        print_json([asdict(finding) for finding in findings])
    else:
        print_text("\n".join(_line(finding) for finding in findings))
    return Exit.RUN_FAILED if any(finding.level == "wrong" for finding in findings) else Exit.OK


def _line(finding: Finding) -> str:
    advice = f"\n         -> {finding.advice}" if finding.advice else ""
    return f"{_MARKS[finding.level]}  {finding.check}: {finding.text}{advice}"


def _here(settings: Settings) -> Iterator[Finding]:
    """This machine."""
    home = settings.home.stat() if settings.home.exists() else None
    yield home_finding(
        str(settings.home), home.st_mode if home else None, ours=home is None or home.st_uid == os.getuid()
    )
    if importlib.util.find_spec("openai") is None:
        advice = "pip install 'errands[orchestrator]' where orchestrators run"
        yield Finding("installation", "note", "only a worker can run here: there is no openai package", advice)
    else:
        yield Finding("installation", "ok", "worker and orchestrator")


def _there(settings: Settings) -> list[Finding]:
    """The store and what stands in it."""
    try:
        with reached(settings) as there:
            reachable = Finding("store", "ok", f"{settings.shown_url} answers")
            return [reachable, *asyncio.run(_look(there.settings))]
    except (StoreUnreachable, ConfigError) as trouble:
        return [Finding("store", "wrong", str(trouble), "set ERRANDS_REDIS_URL, or unset it for an embedded store")]


async def _look(settings: Settings) -> list[Finding]:
    async with aio(settings) as store:
        info = cast("Info", await store.info("everything"))
        offers = await live_offers(store)
        workers = await _workers(store, offers)
        waiting = {
            queue: await reads.size(store, keys.queued(queue)) for queue in await reads.members(store, keys.QUEUES)
        }
        return [
            *store_findings(info, await _appendfsync(store)),
            *worker_findings(workers, int(settings.lost_after_seconds * 1000)),
            *queue_findings(waiting, workers),
            *catalogue_findings(offers),
        ]


async def _appendfsync(store: reads.Store) -> str | None:
    try:
        answer = cast("dict[str, str]", await store.config_get("appendfsync"))
    except ResponseError:  # managed stores keep their configuration to themselves
        return None
    return answer.get("appendfsync")


async def _workers(store: reads.Store, offers: Sequence[LiveOffer]) -> list[LiveWorker]:
    now = await reads.now_ms(store)
    beats = await reads.scores(store, keys.WORKERS)
    return [await _worker(store, worker, now - int(beat), offers) for worker, beat in beats.items()]


async def _worker(store: reads.Store, worker: str, silent_ms: int, offers: Sequence[LiveOffer]) -> LiveWorker:
    host, queues, slots = await reads.fields(store, keys.worker(worker), ("host", "queues", "slots"))
    named = {live.offer.queue for live in offers if live.worker == worker}
    # a worker that was told no queues serves the default one and those of its tools
    served = queues.split(",") if queues else sorted({"default", *named})
    return LiveWorker(worker, host or "unknown", tuple(served), slots or "?", silent_ms)
