"""The processes of several calls that run in one process, told apart."""

from __future__ import annotations

import threading
from collections.abc import Collection, Generator
from contextlib import contextmanager

from errands_workers.kinds.environment import CALL_MARK, WORKER_MARK
from errands_workers.kinship import Child, Kinship
from errands_workers.processes import (
    began_at,
    children_by_thread,
    descendants,
    has_children,
    is_dead,
    kill_all,
    variables_of,
)


class SharedOffspring:
    """What lives below this process. Safe from any thread."""

    def __init__(self, incarnation: str) -> None:
        """What is there now belongs to no call. Marks of other incarnations are no marks."""
        self._incarnation = incarnation
        self._lock = threading.Lock()
        self._kinship = Kinship()
        self._kinship = Kinship(self._children())

    @contextmanager
    def running(self, call: str) -> Generator[None]:
        """A call runs inside the block, in this thread."""
        with self._lock:
            self._kinship.begin(call, threading.get_native_id())
        try:
            yield
        finally:
            with self._lock:
                self._kinship.end(call)

    def of(self, call: str) -> OffspringOfOne:
        """Those of one call."""
        return OffspringOfOne(self, call)

    def own(self, call: str, pid: int) -> None:
        """Take note of a child that a call began."""
        with self._lock:
            self._kinship.own(call, pid, began_at(pid))

    def tree_of(self, call: str) -> list[int]:
        """Everything that can belong to no other call, dead children included; parents before their children."""
        with self._lock:
            self._kinship.see(self._children())
            roots = self._kinship.only_of(call)
        return [pid for root in roots for pid in (root, *descendants(root))]

    def _children(self) -> list[Child]:
        return [self._child(pid, thread) for thread, pids in children_by_thread().items() for pid in pids]

    def _child(self, pid: int, thread: int) -> Child:
        began = began_at(pid)
        return Child(pid, began, thread, self._mark(pid, began))

    def _mark(self, pid: int, began: int) -> str:
        if self._kinship.is_sure(pid, began):
            return ""
        variables = variables_of(pid)
        return variables.get(CALL_MARK, "") if variables.get(WORKER_MARK) == self._incarnation else ""


class OffspringOfOne:
    """The processes of one of several calls."""

    def __init__(self, all_of_them: SharedOffspring, call: str) -> None:
        self._all = all_of_them
        self._call = call

    def began(self, pid: int) -> None:
        """Take note of a process that was begun for the call by this very process."""
        self._all.own(self._call, pid)

    def lives(self) -> bool:
        """Whether anything of the call lives."""
        return any(not is_dead(pid) for pid in self._all.tree_of(self._call))

    def kill(self, unreaped: Collection[int] = ()) -> bool:
        """Kill everything that can belong to no other call."""
        return not has_children() or kill_all(lambda: self._all.tree_of(self._call), unreaped=unreaped)
