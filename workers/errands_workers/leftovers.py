"""Processes that tools of dead workers left on this machine: known by their environment, ended at a later start."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

import redis
import structlog

from errands_config import keys
from errands_workers.kinds.environment import WORKER_MARK
from errands_workers.processes import send

log = structlog.get_logger()

_MARK = f"{WORKER_MARK}=".encode()


def sweep_leftovers(store: redis.Redis, *, sparing: str) -> int:
    """Kill what is marked as begun for an incarnation that this store knows as given up; answers how many.

    Marks of other incarnations stay: they live, or belong to another store. Only Linux shows the marks.
    """
    marked = _marked_processes()
    marked.pop(sparing, None)
    if not marked:
        return 0
    with store.pipeline(transaction=False) as pipe:
        for incarnation in marked:
            pipe.zscore(keys.SETTLED, incarnation)
        settled = pipe.execute()
    doomed = [pid for pids, since in zip(marked.values(), settled, strict=True) if since is not None for pid in pids]
    killed = sum(send(pid, signal.SIGKILL) for pid in doomed)
    if killed:
        log.warning("worker.leftovers_killed", count=killed)
    return killed


def _marked_processes() -> dict[str, list[int]]:
    """Incarnation -> processes marked with it, of those whose environment this user may read."""
    marked: dict[str, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            for variable in (folder / "environ").read_bytes().split(b"\0"):
                if variable.startswith(_MARK) and int(folder.name) != os.getpid():
                    marked.setdefault(variable[len(_MARK) :].decode(errors="replace"), []).append(int(folder.name))
    return marked
