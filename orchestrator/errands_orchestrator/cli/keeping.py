"""A process that is kept: started again whenever it ends, until it is told to stop."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from errands_orchestrator.cli.log_tail import LogTail, last_words
from errands_orchestrator.cli.own_process import Process
from errands_orchestrator.cli.stop_requests import StopRequests
from errands_orchestrator.cli.up_news import Died, News, Started, Stopped

SHORT_LIFE_SECONDS = 10.0
"""A process that lives longer is started again at once when it ends."""
LONGEST_PAUSE_SECONDS = 30.0
STOP_SECONDS = 40.0
"""Longest wait for one that was told to stop: a worker gives its calls 25 s, and then kills and settles them."""
HURRY_SECONDS = 10.0
"""The same when it was told twice."""
_LOOK_SECONDS = 0.1
_ASK_SECONDS = 0.5

Tell: TypeAlias = Callable[[News], None]


def pause_after(short_lives: int) -> float:
    """Seconds until the next start, after so many short lives in a row."""
    return min(LONGEST_PAUSE_SECONDS, 0.5 * 2 ** min(short_lives - 1, 10)) if short_lives else 0.0


class Kept:
    """One process with its log. `log`: makes the path for a new log file; `start`: starts it, with this log."""

    def __init__(self, part: str, log: Callable[[], Path], start: Callable[[Path], Process], tell: Tell) -> None:
        self.part = part
        self._new_log = log
        self._start = start
        self._tell = tell
        self._short_lives = 0
        self._begin()

    def _begin(self) -> None:
        self.log = self._new_log()
        self.process = self._start(self.log)
        self._began = time.monotonic()
        self._tail = LogTail(self.part, self.log)
        self._tell(Started(part=self.part, pid=self.process.pid, log=str(self.log)))

    @property
    def last_words(self) -> str:
        """The end of its log, on one line."""
        return last_words(self.log)

    async def keep(self) -> None:
        """Tell what it logs, and start it again when it ends; for ever."""
        while True:
            await self._life()
            is_short = time.monotonic() - self._began < SHORT_LIFE_SECONDS
            self._short_lives = self._short_lives + 1 if is_short else 0
            pause = pause_after(self._short_lives)
            self._tell(self._death(pause))
            await asyncio.sleep(pause)
            self._tail.close()
            self._begin()

    async def _life(self, seconds: float = math.inf, requests: StopRequests | None = None) -> None:
        """Listen until it ends, for so long, or until it is to hurry."""
        give_up = time.monotonic() + seconds
        while time.monotonic() < give_up and not (requests and requests.count > 1):
            ended = self.process.poll() is not None
            for heard in self._tail.news():
                self._tell(heard)
            if ended:
                return
            await asyncio.sleep(_LOOK_SECONDS)

    def _death(self, pause: float) -> Died:
        code = self.process.poll()
        return Died(part=self.part, exit_code=code, last_words=self.last_words, again_in_seconds=pause)

    async def stop(self, requests: StopRequests) -> int:
        """Tell it to stop and wait for its end; its exit code. A second request makes it hurry. `keep` has ended."""
        self.process.terminate()
        await self._life(STOP_SECONDS, requests)
        give_up = time.monotonic() + HURRY_SECONDS
        while self.process.poll() is None and time.monotonic() < give_up:
            self.process.terminate()  # again and again: of two signals that come together the kernel hands over one
            await self._life(_ASK_SECONDS)
        self.process.kill()
        code = await asyncio.to_thread(self.process.wait)
        self._tail.close()
        self._tell(Stopped(part=self.part, exit_code=code))
        return code
