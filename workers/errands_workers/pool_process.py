"""What a process sets up for itself before it runs calls: nothing of its parent's connections and threads is used."""

from __future__ import annotations

import os
from collections.abc import Callable

from errands_config.scripts.attempts import Holder
from errands_config.settings import Settings
from errands_config.store import plain
from errands_workers.around.hooks import Hooks
from errands_workers.bindings import Values
from errands_workers.board import Board
from errands_workers.catalogue import Catalogue
from errands_workers.kinds.environment import CALL_MARK, WORKER_MARK
from errands_workers.manner import Manner
from errands_workers.processes import adopt_orphans
from errands_workers.recent_finishes import RecentFinishes
from errands_workers.reports import Reporter
from errands_workers.secrets import Secrets
from errands_workers.supervisor import Supervisor


class PoolProcess:
    """One process that runs calls: its connection, its watching and its reporting thread, and who it is to the store.

    Without a board, that is without a launcher, the store counts as in reach.
    """

    def __init__(
        self,
        settings: Settings,
        incarnation: str,
        catalogue: Catalogue,
        secrets: Secrets,
        manner: Manner,
        *,
        board: Board | None,
        index: int = 0,
    ) -> None:
        adopt_orphans()
        os.environ[WORKER_MARK] = incarnation
        os.environ.pop(CALL_MARK, None)  # of a call that began this worker
        self.settings = settings
        self.catalogue = catalogue
        self.hooks = Hooks(catalogue.hooks, catalogue.tools)
        self.manner = manner
        self.holder = Holder(incarnation, os.getpid())
        self.store = plain(settings)
        self.values = Values(self.store, secrets)
        self.leaving: Callable[[], bool] = (lambda: board.is_leaving) if board else (lambda: False)
        """Whether the worker was told to go."""
        self.recent = RecentFinishes()
        self.reporter = Reporter(self.store)
        sign = (board or Board.create()).slot(index)
        silence = (lambda: board.silence_seconds) if board else (lambda: 0.0)
        self.supervisor = Supervisor(settings, manner, sign, silence, self.recent)
        self.supervisor.meet_store()
        self.reporter.start()
        self.supervisor.start()
