"""What may arrive at a session: mail, what the model or its endpoint said, and what a decision brought back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from pydantic import JsonValue

from errands_config.wire import CallState, Mail
from errands_orchestrator.digest import Outstanding
from errands_orchestrator.models.model import Reply
from errands_orchestrator.naming import UNNAMED, Names
from errands_orchestrator.references import Reference
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
    names: Names = UNNAMED
    """What the names in it are bound to."""
    used: frozenset[str] = frozenset()
    """Ids of earlier calls that its calls, as they stand in the history, must not have."""


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
    paged: tuple[str, ...] = ()
    """Calls of earlier turns whose result the model has read to its last page."""
    waited: tuple[str, ...] = ()
    """Calls of earlier turns whose result a wait has brought."""
    stopped: tuple[str, ...] = ()
    """Calls whose end by cancel the model has learned by it."""
    seen: Reads | None = None


@dataclass(frozen=True, slots=True)
class Looked:
    """The states of open calls, as their records say."""

    states: tuple[tuple[str, CallState], ...]


@dataclass(frozen=True, slots=True)
class Resolved:
    """What a call that waited for others runs with."""

    call: str
    arguments: str
    """As recorded: with references."""
    found: Mapping[Reference, JsonValue]
    """What the references in them stand for, of those that lead somewhere."""
    is_too_large: bool = False
    """They stand for more than arguments may hold, and not all of it was read."""


@dataclass(frozen=True, slots=True)
class Surveyed:
    """How open calls stand, for the digest of the next request."""

    calls: tuple[Outstanding, ...]


Arrival: TypeAlias = Acquired | Received | Replied | AskFailed | Begun | Answered | Looked | Resolved | Surveyed
