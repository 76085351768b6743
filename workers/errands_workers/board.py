"""What the processes of one worker know of one another without asking: a small file of shared memory.

The launcher writes when the store last answered it; each pool process writes when its watching thread last looked, and
when its call is due to end. All moments are readings of `time.monotonic_ns`, which is one clock for all processes of a
machine. The Celery process leaves the tools that it offers here once it is ready to serve.
"""

from __future__ import annotations

import mmap
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

_SLOTS = 256
_NUMBERS = 3 + 3 * _SLOTS
_OFFERS_AT = mmap.PAGESIZE * (_NUMBERS * 8 // mmap.PAGESIZE + 1)
_CONTACT, _OFFERED, _LEAVING = 0, 1, 2
_FIRST = 3


@dataclass(frozen=True, slots=True)
class PoolSign:
    """What one pool process last wrote; `due_ns` is 0 while it runs no call."""

    pid: int
    looked_ns: int
    due_ns: int


class Board:
    """One worker's board. Every number is written by one process only, whole."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._numbers = memoryview(mmap.mmap(descriptor, _OFFERS_AT)).cast("q")

    @classmethod
    def create(cls) -> Self:
        """A new board, without a name: it is gone with its last process."""
        descriptor = _nameless_file()
        os.ftruncate(descriptor, _OFFERS_AT)
        board = cls(descriptor)
        board.answered()
        return board

    def close(self) -> None:
        """Give it up in this process."""
        os.close(self.descriptor)

    def answered(self) -> None:
        """The store answered just now."""
        self._numbers[_CONTACT] = time.monotonic_ns()

    @property
    def silence_seconds(self) -> float:
        """How long the store has not answered."""
        return (time.monotonic_ns() - self._numbers[_CONTACT]) / 1e9

    def leave(self) -> None:
        """The worker was told to go."""
        self._numbers[_LEAVING] = 1

    @property
    def is_leaving(self) -> bool:
        """Whether it was."""
        return bool(self._numbers[_LEAVING])

    def offer(self, text: bytes) -> None:
        """Leave the offers, and say with them that this worker is ready."""
        os.pwrite(self.descriptor, text, _OFFERS_AT)
        self._numbers[_OFFERED] = len(text)

    @property
    def offers(self) -> bytes | None:
        """What `offer` left; None before."""
        length = self._numbers[_OFFERED]
        return os.pread(self.descriptor, length, _OFFERS_AT) if length else None

    def slot(self, index: int) -> BoardSlot:
        """The place of one pool process."""
        return BoardSlot(self._numbers, _FIRST + 3 * (index % _SLOTS))

    def signs(self) -> Iterator[PoolSign]:
        """What the pool processes wrote, of dead ones too."""
        for at in range(_FIRST, _NUMBERS, 3):
            if pid := self._numbers[at]:
                yield PoolSign(pid, self._numbers[at + 1], self._numbers[at + 2])


def _nameless_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("errands-board")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


class BoardSlot:
    """Where one pool process writes."""

    def __init__(self, numbers: memoryview[int], at: int) -> None:
        self._numbers = numbers
        self._at = at
        self.looked()
        self.due(None)
        self._numbers[at] = os.getpid()

    def looked(self) -> None:
        """The watching thread is alive."""
        self._numbers[self._at + 1] = time.monotonic_ns()

    def due(self, deadline: float | None) -> None:
        """When the running call is to end, as a reading of `time.monotonic`; None: no call."""
        self._numbers[self._at + 2] = 0 if deadline is None else int(deadline * 1e9)
