"""CPU time and memory of processes, from /proc. Linux only, like the figures that need it."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Cpu:
    """CPU seconds of those who take part: the process that asks, the worker with its children, the store."""

    client: float
    worker: float
    store: float

    def __sub__(self, other: Cpu) -> Cpu:
        return Cpu(self.client - other.client, self.worker - other.worker, self.store - other.store)

    @property
    def whole(self) -> float:
        """All of it."""
        return self.client + self.worker + self.store


def cpu_now(worker: int | None, store: int) -> Cpu:
    """What was used so far, by this process and by these two."""
    return Cpu(time.process_time(), cpu_of_tree(worker) if worker else 0.0, cpu_of_tree(store))


def cpu_of_tree(pid: int) -> float:
    """CPU seconds of a process and of all that lives below it, in the kernel's nanoseconds instead of its ticks."""
    return sum(_cpu_of(one) for one in tree(pid))


def tree(pid: int) -> list[int]:
    """A process and its descendants."""
    found = [pid]
    for one in found:  # grows while it is walked
        for task in _tasks(one):
            with suppress(FileNotFoundError, ProcessLookupError):
                found += [int(child) for child in (task / "children").read_text().split()]
    return found


def rss_bytes() -> int:
    """Memory of this process that is its own: without pages of files."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("the kernel does not tell RssAnon")


def busy_share(seconds: float = 1.0) -> float:
    """How much of all cores is in use, 0 to 1. Asked while nothing of ours runs, it is what others use."""
    before = machine_now()
    time.sleep(seconds)
    return share_since(before)


def share_since(before: tuple[int, int]) -> float:
    """How much of all cores was in use since `machine_now` answered this, 0 to 1."""
    busy, whole = machine_now()
    return (busy - before[0]) / max(1, whole - before[1])


def machine_now() -> tuple[int, int]:
    """Ticks of all cores so far: in use, and all."""
    user, nice, system, idle, wait, irq, soft, steal = map(int, Path("/proc/stat").read_text().split()[1:9])
    busy = user + nice + system + irq + soft + steal
    return busy, busy + idle + wait


def _cpu_of(pid: int) -> float:
    used = 0
    for task in _tasks(pid):
        with suppress(FileNotFoundError, ProcessLookupError):
            used += int((task / "schedstat").read_text().split()[0])
    return used / 1e9


def _tasks(pid: int) -> list[Path]:
    with suppress(FileNotFoundError, ProcessLookupError):
        return list((_PROC / str(pid) / "task").iterdir())
    return []
