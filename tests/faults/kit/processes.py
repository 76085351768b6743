"""Processes from outside: who is below whom, what they are marked with, and which of them has a connection."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from errands_workers.processes import descendants, is_dead, variables_of

RUN_VARIABLE = "FAULTS_RUN"
"""Marks every process of a run but the scripts, whose environment is clean; those have the marks of their call."""
CALL_VARIABLE = "ERRANDS_TOOL_CALL_ID"
WORKER_VARIABLE = "ERRANDS_WORKER"


def below(pid: int) -> list[int]:
    """What lives below a process, parents first."""
    return [one for one in descendants(pid) if not is_dead(one)]


def send(pids: Iterable[int], number: signal.Signals) -> None:
    """Send a signal to those that are still there."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def command_of(pid: int) -> str:
    """The words of a process's command; empty if it is gone."""
    with contextlib.suppress(OSError):
        return (Path("/proc") / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return ""


def marked(variable: str, values: Collection[str]) -> list[int]:
    """Living processes that were begun with one of these values, but for this one."""
    return [
        pid for pid in _every() if pid != os.getpid() and variables_of(pid).get(variable) in values and not is_dead(pid)
    ]


def _every() -> Iterator[int]:
    return (int(folder.name) for folder in Path("/proc").glob("[0-9]*"))


def owner_of_port(port: int, among: Iterable[int]) -> int | None:
    """Which of these processes has the loopback connection from this port of its own."""
    sockets = {f"socket:[{inode}]" for inode in _inodes(port)}
    return next((pid for pid in among if sockets & set(_open_files(pid))), None)


def _inodes(port: int) -> Iterator[str]:
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        if int(words[1].rpartition(":")[2], 16) == port:
            yield words[9]


def _open_files(pid: int) -> Iterator[str]:
    with contextlib.suppress(OSError):
        for entry in (Path("/proc") / str(pid) / "fd").iterdir():
            with contextlib.suppress(OSError):
                yield str(entry.readlink())
