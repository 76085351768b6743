"""What a step decides: what must happen now, and what those who watch are told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from errands_orchestrator.session import CapabilityCall, Ended, Entry, NewCall, Session, TrackedCall


@dataclass(frozen=True, slots=True)
class Queue:
    """Publish these waiting calls, in the same commit."""

    calls: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AskModel:
    """Send the committed history and bring back `Replied` or `AskFailed`.

    It stands in every step until then. A request in flight goes on while it does and the step logged nothing; a step
    that logged something makes a new request, and a step without AskModel ends the old one.
    """


@dataclass(frozen=True, slots=True)
class Begin:
    """Begin this capability and bring back `Begun`."""

    call: CapabilityCall


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer this capability now and bring back `Answered`."""

    call: CapabilityCall


@dataclass(frozen=True, slots=True)
class Look:
    """Bring back the states of these calls as `Looked`."""

    calls: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Resolve:
    """Bring back the arguments of this call and the results of those that it depends on, as `Resolved`."""

    call: TrackedCall


@dataclass(frozen=True, slots=True)
class Survey:
    """Bring back how these calls stand as `Surveyed`: the next request tells of them."""

    calls: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cancel:
    """Ask for the end of these calls. May come again for the same ones."""

    calls: tuple[str, ...]
    reason: str
    by: Literal["user", "system"]


@dataclass(frozen=True, slots=True)
class Again:
    """Commit, then step once more: the rest of a large turn is still to be recorded."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Park until mail or `until` (store time, ms; None: mail alone, which open calls are sure to send)."""

    until: int | None
    outside: bool = False
    """Only deferred calls are waited for."""


@dataclass(frozen=True, slots=True)
class Park:
    """Nothing to do: `idle` after an answer or a stop, `paused` with the session's cause."""

    status: Literal["idle", "paused"]


Decision: TypeAlias = Queue | AskModel | Begin | Answer | Look | Resolve | Survey | Cancel | Again | Wait | Park

EventKind: TypeAlias = Literal[
    "run.started",
    "run.ended",
    "run.paused",
    "run.resumed",
    "run.blocked",
    "turn.started",
    "turn.completed",
    "turn.restarted",
    "turn.failed",
]


@dataclass(frozen=True, slots=True)
class Event:
    """Something for those who watch the session. Never carries arguments, results or what anybody said."""

    kind: EventKind
    facts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """What one step changed and decided. `changed` is False when there is nothing to commit."""

    session: Session
    decisions: tuple[Decision, ...]
    log: tuple[Entry, ...] = ()
    records: tuple[NewCall, ...] = ()
    ends: tuple[Ended, ...] = ()
    events: tuple[Event, ...] = ()
    changed: bool = True
