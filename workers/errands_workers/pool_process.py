"""What a pool process sets up for itself after the fork: nothing of its parent's connections and threads is used."""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import NoReturn

from errands_config.scripts.attempts import Holder
from errands_config.settings import Settings
from errands_config.store import plain
from errands_workers.board import Board
from errands_workers.catalogue import Catalogue
from errands_workers.kinds.environment import WORKER_MARK
from errands_workers.nudges import NUDGE, block_nudges
from errands_workers.processes import adopt_orphans, leave_process
from errands_workers.reports import Reporter
from errands_workers.supervisor import Supervisor


class PoolProcess:
    """One pool process: its connection, its watching and its reporting thread, and who it is to the store.

    Without a board, that is without a launcher, the store counts as in reach.
    """

    def __init__(
        self, settings: Settings, incarnation: str, catalogue: Catalogue, *, board: Board | None, index: int
    ) -> None:
        block_nudges()
        adopt_orphans()
        os.environ[WORKER_MARK] = incarnation
        self.settings = settings
        self.catalogue = catalogue
        self.holder = Holder(incarnation, os.getpid())
        self.store = plain(settings)
        self.reporter = Reporter(self.store)
        sign = (board or Board.create()).slot(index)
        self.supervisor = Supervisor(settings, sign, lambda: board.silence_seconds if board else 0.0)
        self.reporter.start()
        self.supervisor.start()

    def ready_for_tool(self) -> None:
        """Before each call, since billiard and tools set handlers of their own.

        A request to end the process ends its tool as well, and no tool can catch it. A nudge that meets this thread
        goes to the one that waits for it. SIGINT stays without effect here, but is not ignored: tools would inherit it.
        """
        signal.signal(signal.SIGTERM, _leave)
        signal.signal(NUDGE, self._pass_on)
        signal.signal(signal.SIGINT, _no_effect)

    def _pass_on(self, _number: int, _frame: FrameType | None) -> None:
        self.supervisor.nudge()


def _no_effect(_number: int, _frame: FrameType | None) -> None:
    """Ctrl-C is for the launcher, which tells Celery to stop."""


def _leave(_number: int, _frame: FrameType | None) -> NoReturn:
    leave_process()
