"""A step in the making: what it changes and decides, before it is committed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from errands_orchestrator.attach import handed_back
from errands_orchestrator.brief import Brief
from errands_orchestrator.decisions import Event, EventKind
from errands_orchestrator.delivery import with_mail
from errands_orchestrator.digest import Outstanding
from errands_orchestrator.room import Room, room_of
from errands_orchestrator.session import Ended, Entry, NewCall, Phase, Session, StopReason, TrackedCall


@dataclass(slots=True)
class Draft:
    """The session so far, and what goes into the log, the records and the events."""

    brief: Brief
    session: Session
    now: int
    log: list[Entry] = field(default_factory=list[Entry])
    records: list[NewCall] = field(default_factory=list[NewCall])
    ends: list[Ended] = field(default_factory=list[Ended])
    events: list[Event] = field(default_factory=list[Event])
    cancel: bool = False
    """Ask (again) for the end of the calls that are to stop."""
    amend: bool = False
    """The request that is out is void: a new one says more."""
    survey: tuple[Outstanding, ...] | None = None
    """How open calls stand, where that was looked up for the next request."""

    @property
    def room(self) -> Room:
        """What the next request still takes."""
        return self.session.room or room_of(self.brief)

    def put(self, **changes: Any) -> None:
        """Change fields of the session."""
        self.session = replace(self.session, **changes)

    def tell(self, kind: EventKind, **facts: str) -> None:
        """Let those who watch know."""
        self.events.append(Event(kind, tuple(facts.items())))

    @property
    def max_bytes(self) -> int:
        """Most of one result that the model gets."""
        return self.brief.agent.delivery.max_result_bytes

    def stop(self, reason: StopReason, calls: tuple[TrackedCall, ...]) -> None:
        """Have these calls end, those of them that are open."""
        ids = {call.id for call in calls if not (call.is_final or call.stopping)}
        if ids:
            stopped = (replace(it, stopping=reason) if it.id in ids else it for it in self.session.calls)
            self.put(calls=tuple(stopped))
            self.cancel = True

    def hand_back(self) -> None:
        """Write the tool messages of the newest turn; there are none where it only made calls that end later."""
        self.session, entry = handed_back(self.session, self.brief.agent.capabilities)
        if self.brief.agent.mail_in_tool_result:
            self.session, entry = with_mail(self.session, entry, self.room)
        if entry.messages:
            self.log.append(entry)

    def pause(self, cause: str) -> None:
        """Stand still until resumed."""
        self.put(cause=cause, pause_after=0)
        self.tell("run.paused", cause=cause)

    def end_run(self, status: Literal["completed", "cancelled"]) -> None:
        """Nothing more is asked in this run."""
        self.put(phase=Phase.IDLE, failures=0, retry_at=0, cause="", pause_after=0, reads=(), blocked=False)
        self.tell("run.ended", status=status)
