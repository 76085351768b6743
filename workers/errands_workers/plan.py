"""What a worker is to serve, as its launcher tells the Celery process in one environment variable."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias

from errands_config.wire import Frozen

PLAN_VARIABLE = "ERRANDS_WORKER_PLAN"
INCARNATION_VARIABLE = "ERRANDS_INCARNATION"
DEFAULT_SLOTS = 4
EXIT_CONFIG = 3
"""Exit code of a worker whose plan cannot be served; starting it again would not help."""


Pool: TypeAlias = Literal["prefork", "threads"]
"""`prefork`: one process a call at a time. `threads`: all calls in the Celery process, for tools that bear it."""


class WorkerPlan(Frozen):
    """Where the tools come from, and how many run at a time on which queues."""

    agents: tuple[Path, ...] = ()
    """Agent files, for their toolboxes."""
    tools: tuple[Path, ...] = ()
    """Folders of executables."""
    hooks: tuple[Path, ...] = ()
    """Folders of command hooks; the first that has a hook of a name is the one."""
    modules: tuple[str, ...] = ()
    """Python modules by their dotted names."""
    queues: tuple[str, ...] = ()
    """Empty: `default` and every queue that one of the tools, or the policy of one of the agents, names."""
    slots: int = DEFAULT_SLOTS
    """Calls at a time: pool processes or threads."""
    pool: Pool = "prefork"
    launcher: int | None = None
    """Process id of the launcher, with which the Celery process dies."""
    board: int | None = None
    """Descriptor of the file that launcher and pool processes share; see `board.py`."""
