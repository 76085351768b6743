"""What may arrive at a session: mail, what the model or its endpoint said, and what a decision brought back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from errands_config.wire import CallState, Mail
from errands_orchestrator.models.model import Reply
from errands_orchestrator.session import Reads


@dataclass(frozen=True, slots=True)
class Acquired:
    """This process has just become the owner: what its predecessor may not have done is decided again."""


@dataclass(frozen=True, slots=True)
class Received:
    """One mail, unread until now. An outcome too large for mail has been filled in."""

    mail: Mail


@dataclass(frozen=True, slots=True)
class Replied:
    """The model's answer; `ids` are fresh ids of ours, one a call, capabilities too."""

    reply: Reply
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AskFailed:
    """The model endpoint gave no usable answer."""

    cause: str
    retryable: bool
    retry_after: float | None = None
    """Seconds that the endpoint asked for."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A capability was begun: what it waits for, if anything."""

    call: str
    targets: tuple[str, ...] = ()
    wait_until: int | None = None
    any_of: bool = False
    """Whether the end of one of the targets is enough."""


@dataclass(frozen=True, slots=True)
class Answered:
    """A capability's answer, as JSON text."""

    call: str
    text: str
    read: tuple[str, ...] = ()
    """Calls of earlier turns whose final result the model has read by it."""
    waited: tuple[str, ...] = ()
    """Calls of earlier turns whose result a wait has brought."""
    stopped: tuple[str, ...] = ()
    """Calls whose end by cancel the model has learned by it."""
    seen: Reads | None = None


@dataclass(frozen=True, slots=True)
class Looked:
    """The states of open calls, as their records say."""

    states: tuple[tuple[str, CallState], ...]


Arrival: TypeAlias = Acquired | Received | Replied | AskFailed | Begun | Answered | Looked
