"""What goes on in a store, in numbers. Its cost grows with what goes on, not with what the store remembers."""

from __future__ import annotations

from errands_config import keys
from errands_config.settings import Settings
from errands_orchestrator import reads
from errands_orchestrator.cli.up_news import Status

_AT_REST = (None, "idle", "paused")


async def read_status(store: reads.Store, settings: Settings) -> Status:
    """The numbers of now. Raises redis-py's errors."""
    workers = await beating(store, settings)
    slots = await reads.field_of_each(store, [keys.worker(worker) for worker in workers], "slots")
    in_flight = await reads.ranked(store, keys.WATCH)
    states = await reads.fields_of_each(store, [keys.call(cid) for cid in in_flight], ("state", "session"))
    running = sum(state == "running" for state, _ in states)
    return Status(
        store="ok",
        workers=len(workers),
        slots=sum(int(number or 0) for number in slots),
        busy_slots=sum([len(await reads.field_names(store, keys.worker_calls(worker))) for worker in workers]),
        sessions_running=await _sessions(store, {sid for _, sid in states if sid}),
        calls_running=running,
        calls_queued=sum(state == "queued" for state, _ in states),
    )


async def beating(store: reads.Store, settings: Settings) -> set[str]:
    """The worker incarnations whose last beat is not older than a lost one's would be."""
    oldest = await reads.now_ms(store) - int(settings.lost_after_seconds * 1000)
    return {worker for worker, beat in (await reads.scores(store, keys.WORKERS)).items() if beat > oldest}


async def _sessions(store: reads.Store, with_calls: set[str]) -> int:
    """Sessions whose run goes on. Each is due at some moment, or waits for a call."""
    sids = with_calls | set(await reads.ranked(store, keys.DUE))
    statuses = await reads.field_of_each(store, [keys.session(sid) for sid in sids], "status")
    return sum(status not in _AT_REST for status in statuses)
