"""The faults that there are, the moments in a call's and a session's life that they are aimed at, and who suffers."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Literal, TypeAlias


class Window(StrEnum):
    """A moment between two steps of the protocol, in which something is done and nobody knows it yet."""

    PUBLISHED = "published, not claimed"
    CLAIMED = "claimed, not started"
    RUNNING = "running"
    DEFERRED = "deferred, not answered"
    FINISHED = "finished, not answered"
    MAIL = "mail, not read"
    COMMITTED = "committed, not sent"
    SENT = "sent, not committed"


class Kind(StrEnum):
    """What is done to the deployment."""

    KILL_ORCHESTRATOR = "kill orchestrator"
    KILL_LAUNCHER = "kill launcher"
    KILL_CELERY = "kill Celery"
    KILL_POOL = "kill pool child"
    KILL_TOOL = "kill tool"
    KILL_STORE = "kill store"
    RESET = "reset connections"
    HALF_OPEN = "half-open connections"
    FREEZE = "freeze"
    DUPLICATE = "duplicate messages"
    DELAY = "delay messages"
    CLOCK = "step clock"
    REORDER = "reorder ends"


Role: TypeAlias = Literal["orchestrator", "worker"]

_OF_CALLS: Final = (Window.PUBLISHED, Window.CLAIMED, Window.RUNNING, Window.DEFERRED, Window.FINISHED)
_OF_SESSIONS: Final = (Window.MAIL, Window.COMMITTED, Window.SENT)
WINDOWS_OF: Final[dict[Role, tuple[Window, ...]]] = {"worker": _OF_CALLS, "orchestrator": _OF_SESSIONS}

TO_PROCESSES: Final = (
    Kind.KILL_ORCHESTRATOR,
    Kind.KILL_POOL,
    Kind.RESET,
    Kind.KILL_LAUNCHER,
    Kind.FREEZE,
    Kind.KILL_STORE,
    Kind.KILL_CELERY,
    Kind.HALF_OPEN,
    Kind.KILL_TOOL,
)
"""Faults after which processes have to come back."""
TO_MESSAGES: Final = (Kind.DUPLICATE, Kind.DELAY, Kind.CLOCK, Kind.REORDER)
"""Faults that harm no process."""

VICTIMS: Final[dict[Kind, tuple[Role, ...]]] = {
    Kind.KILL_ORCHESTRATOR: ("orchestrator",),
    Kind.KILL_LAUNCHER: ("worker",),
    Kind.KILL_CELERY: ("worker",),
    Kind.KILL_POOL: ("worker",),
    Kind.KILL_TOOL: ("worker",),
    Kind.KILL_STORE: ("worker", "orchestrator"),
    Kind.RESET: ("worker", "orchestrator"),
    Kind.HALF_OPEN: ("worker", "orchestrator"),
    Kind.FREEZE: ("worker", "orchestrator"),
}
"""Whose moments a fault of a kind can be aimed at."""


def aims(kind: Kind, role: Role) -> tuple[Window, ...]:
    """The windows that a fault of this kind can be aimed at, when it meets a process of this role."""
    return (Window.RUNNING,) if kind is Kind.KILL_TOOL else WINDOWS_OF[role]
