"""Processes of the operating system: whom this one begot, how they are ended, and what dies with whom.

Linux tells descendants by `/proc` and lets a process adopt what its descendants leave behind (sub-reaper) or die with
its parent (death signal). Elsewhere `ps` tells descendants, and nobody adopts: what detached itself is not found there.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NoReturn

KILL_SECONDS = 5.0
"""Longest wait for killed processes to be gone; one that the kernel holds in a system call may take longer."""

_PROC = Path("/proc")
_ON_LINUX = sys.platform == "linux"
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PAUSE_SECONDS = 0.002

_libc = ctypes.CDLL(None) if _ON_LINUX else None


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


@cache
def dying_with_parent() -> tuple[str, ...]:
    """Words before a command that have it killed when the thread that starts it ends; none if the system has no such.

    A program does it, and not a function between fork and exec: that would make a copy of this whole process first,
    which takes several milliseconds, and may meet a lock that another thread held.
    """
    program = shutil.which("setpriv")
    words = (program or "", "--pdeathsig", "KILL", "--")
    if not program or subprocess.run([*words, "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        return ()
    return words


def children(pid: int) -> list[int]:
    """The direct children of a process, zombies included; empty if it is gone."""
    return _children_by_proc(pid) if _ON_LINUX else _parents_by_ps().get(pid, [])


def children_by_thread() -> dict[int, list[int]]:
    """The direct children of this process, by the thread that began them; thread 0 where the system does not tell.

    The first thread has those as well that were adopted, and those whose own thread has ended.
    """
    if not _ON_LINUX:
        return {0: children(os.getpid())}
    return {thread: _children_of_thread(os.getpid(), thread) for thread in map(int, os.listdir("/proc/self/task"))}


def began_at(pid: int) -> int:
    """When a process began, in ticks of the system: a number that a later one with the same pid does not have.

    0 for one that is gone, and where the system does not tell.
    """
    with suppress(OSError, IndexError):
        return int((_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[19])
    return 0


def variables_of(pid: int) -> dict[str, str]:
    """The environment that a process was begun with; empty where it is over, another user's, or not to be seen."""
    with suppress(OSError):
        words = (_PROC / str(pid) / "environ").read_bytes().decode(errors="replace").split("\0")
        return dict(word.split("=", 1) for word in words if "=" in word)
    return {}


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
            found.extend(_children_of_thread(pid, int(task)))
    return found


def _children_of_thread(pid: int, thread: int) -> list[int]:
    with suppress(FileNotFoundError, ProcessLookupError):
        return [*map(int, (_PROC / str(pid) / "task" / str(thread) / "children").read_text().split())]
    return []


def _parents_by_ps() -> dict[int, list[int]]:
    listing = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True)  # noqa: S607
    by_parent: dict[int, list[int]] = {}
    for line in listing.stdout.splitlines():
        pid, parent = map(int, line.split())
        by_parent.setdefault(parent, []).append(pid)
    return by_parent


def has_children() -> bool:
    """Whether this process has any child, dead or alive: one system call instead of a walk through `/proc`."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


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


def kill_below(
    pid: int, *, sparing: Collection[int] = (), unreaped: Collection[int] = (), seconds: float = KILL_SECONDS
) -> bool:
    """Kill everything below a process until none is left; False if some is left after so many seconds.

    `sparing`: children that live on, with all that is below them. `unreaped`: children of this process for which
    somebody else waits; they count as gone once they are dead.
    """
    if pid == os.getpid() and not has_children():
        return True
    return kill_all(lambda: _below_but(pid, sparing), unreaped=unreaped, seconds=seconds)


def kill_all(find: Callable[[], list[int]], *, unreaped: Collection[int] = (), seconds: float = KILL_SECONDS) -> bool:
    """Kill what `find` finds until none of it lives; as `kill_below`."""
    give_up = time.monotonic() + seconds
    while living := [one for one in find() if not _is_over(one, unreaped)]:
        for one in living:
            send(one, signal.SIGKILL)
        if time.monotonic() >= give_up:
            return False
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


def leave_process() -> NoReturn:
    """End this process, and first everything below it. It is for a process in which something cannot be ended."""
    kill_below(os.getpid())
    os.kill(os.getpid(), signal.SIGKILL)
    raise SystemExit  # never reached: the signal is on its way
