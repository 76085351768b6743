"""Processes of the operating system: whom this one begot, how they are ended, and what dies with whom.

Linux tells descendants by `/proc` and lets a process adopt what its descendants leave behind (sub-reaper) or die with
its parent (death signal). Elsewhere `ps` tells descendants, and nobody adopts: what detached itself is not found there.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

KILL_SECONDS = 5.0
"""Longest wait for killed processes to be gone; one that the kernel holds in a system call may take longer."""

_PROC = Path("/proc")
_ON_LINUX = sys.platform == "linux"
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PAUSE_SECONDS = 0.002

# PyDLL keeps the interpreter's lock during the call, which makes it safe between fork and exec
_libc = ctypes.PyDLL(None) if _ON_LINUX else None


def adopt_orphans() -> None:
    """Become the parent of whatever a descendant leaves behind, so that it can still be found and ended."""
    if _libc:
        _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(parent: int) -> None:
    """Be killed when the parent's thread that started this process ends; at once if the parent is gone already."""
    if _libc:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def fresh_tool_process() -> Callable[[], None]:
    """What the child of a fork does before it becomes a tool: death signal, and no signal blocked.

    It calls nothing that could wait for a lock which another thread held when the process forked.
    """
    parent = os.getpid()

    def prepare() -> None:
        die_with_parent(parent)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())

    return prepare


def children(pid: int) -> list[int]:
    """The direct children of a process, zombies included; empty if it is gone."""
    return _children_by_proc(pid) if _ON_LINUX else _parents_by_ps().get(pid, [])


def descendants(pid: int) -> list[int]:
    """Everything below a process, parents before their children."""
    if not _ON_LINUX:
        by_parent = _parents_by_ps()
        return _below(pid, lambda parent: by_parent.get(parent, []))
    return _below(pid, _children_by_proc)


def _below(pid: int, children_of: Callable[[int], list[int]]) -> list[int]:
    found = children_of(pid)
    for child in found:  # grows while it is walked
        found.extend(grandchild for grandchild in children_of(child) if grandchild not in found)
    return found


def _children_by_proc(pid: int) -> list[int]:
    found: list[int] = []
    with suppress(FileNotFoundError, ProcessLookupError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with suppress(FileNotFoundError, ProcessLookupError):
                found.extend(map(int, (_PROC / str(pid) / "task" / task / "children").read_text().split()))
    return found


def _parents_by_ps() -> dict[int, list[int]]:
    listing = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True)  # noqa: S607
    by_parent: dict[int, list[int]] = {}
    for line in listing.stdout.splitlines():
        pid, parent = map(int, line.split())
        by_parent.setdefault(parent, []).append(pid)
    return by_parent


def send(pid: int, number: signal.Signals) -> bool:
    """Send a signal to a process; False if there is none or it is not ours."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def send_to_group(pid: int, number: signal.Signals) -> None:
    """Send a signal to the process group that `pid` leads, if it is still there."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def kill_below(pid: int, *, sparing: Collection[int] = (), unreaped: Collection[int] = ()) -> bool:
    """Kill everything below a process until none is left; False if some is left after KILL_SECONDS.

    `sparing`: children that live on, with all that is below them. `unreaped`: children of this process for which
    somebody else waits; they count as gone once they are dead.
    """
    give_up = time.monotonic() + KILL_SECONDS
    while living := [one for one in _below_but(pid, sparing) if not _is_over(one, unreaped)]:
        if time.monotonic() > give_up:
            return False
        for one in living:
            send(one, signal.SIGKILL)
        time.sleep(_PAUSE_SECONDS)
    return True


def _below_but(pid: int, sparing: Collection[int]) -> list[int]:
    if not sparing:
        return descendants(pid)
    kept = {pid: [child for child in children(pid) if child not in sparing]}
    return _below(pid, lambda parent: kept[parent] if parent in kept else children(parent))


def _is_over(pid: int, unreaped: Collection[int]) -> bool:
    """Whether a process has ended. A dead child of this process is taken note of, so that it can vanish."""
    if pid not in unreaped:
        with suppress(ChildProcessError):
            return os.waitpid(pid, os.WNOHANG)[0] == pid
    return is_dead(pid)


def is_dead(pid: int) -> bool:
    """Whether there is no such process, or only what its parent has not asked for yet."""
    if not _ON_LINUX:
        return not _exists(pid)
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in ("Z", "X")
    except (FileNotFoundError, ProcessLookupError):
        return True


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
