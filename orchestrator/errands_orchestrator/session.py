"""The session as values: what the log holds, what is tracked, what may arrive and what may be decided.

Nothing here does anything. `stepper.step` turns one `Session` and some arrivals into the next one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, TypeAlias

from errands_config.wire import CallPolicy, CallState, Mail, Outcome, ToolOffer
from errands_orchestrator.models.model import Reply

# ---- the log: what the model saw, entry by entry, never changed -------------------------------------------------


@dataclass(frozen=True, slots=True)
class ShownCall:
    """A call as it stands in the history: with the id and the arguments that are sent back to the model."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """The one tool message of one call."""

    id: str
    """The id that the model used."""
    call: str
    """Ours; empty for a capability."""
    name: str
    state: CallState
    text: str
    placeholder: bool = False


@dataclass(frozen=True, slots=True)
class UserEntry:
    """One user message: texts of people, late results, mail."""

    text: str
    kind: Literal["user"] = "user"
    from_person: bool = False
    """Whether a person's words are in it."""


@dataclass(frozen=True, slots=True)
class AssistantEntry:
    """One answer of the model. With neither text nor calls it is left out of later requests."""

    text: str
    calls: tuple[ShownCall, ...] = ()
    kind: Literal["assistant"] = "assistant"


@dataclass(frozen=True, slots=True)
class ToolsEntry:
    """The tool messages of one turn, in call order."""

    messages: tuple[ToolMessage, ...]
    kind: Literal["tools"] = "tools"


Entry: TypeAlias = UserEntry | AssistantEntry | ToolsEntry

# ---- the tracked state -----------------------------------------------------------------------------------------


class Phase(StrEnum):
    """What a session owes next."""

    IDLE = "idle"
    """Nothing: no run is going on."""
    READY = "ready"
    """A request to the model, as soon as there is something to say."""
    ASKING = "asking"
    """A request is committed; its answer is not."""
    ATTACHED = "attached"
    """The calls of the newest turn: the step has not handed back yet."""
    RESTING = "resting"
    """The model ended its turn while calls run."""
    PAUSED = "paused"
    """Nothing until it is resumed; `cause` says why."""


Attach: TypeAlias = Literal["forever", "strategy", "deadline"]


@dataclass(frozen=True, slots=True)
class TrackedCall:
    """A call whose news the model has not had, or not whole."""

    id: str
    provider_id: str
    """As it stands in the history: unique within its message, never empty."""
    name: str
    arguments: str
    """Canonical JSON text as sent on; kept for capabilities only, else empty: the record has them."""
    turn: int
    kind: Literal["tool", "capability"]
    attach: Attach
    state: CallState
    queue: str = ""
    policy: CallPolicy | None = None
    recorded: bool = False
    """Whether its record is written (a turn of more than 100 calls is recorded in slices)."""
    attach_until: int = 0
    """Store time in ms at which a `deadline` call detaches."""
    detached: str = ""
    """Why the step let go of it: `interrupted`, `still running after 10s`."""
    placeholder: bool = False
    """Its tool message was a placeholder, so its result is still owed."""
    outcome: Outcome | None = None
    ended: int = 0
    """Position in the order of ends; 0 while open."""
    buried: bool = False
    """A person spoke, or another turn made calls, after its placeholder."""
    rerun: bool = False
    known: bool = False
    """The model has had the news already (it read the result, or its own cancel ended the call)."""
    # a capability's own wait
    begun: bool = False
    targets: tuple[str, ...] = ()
    need: Literal["all", "any"] = "all"
    wait_until: int | None = None
    """Store time in ms; None: no wait, it is answered when the step hands back."""
    woken_by: str = ""
    answer: str | None = None


@dataclass(frozen=True, slots=True)
class Pending:
    """Something for the next user message."""

    kind: Literal["user", "notify", "mail"]
    text: str
    """Whole text of its block, framed."""


@dataclass(frozen=True, slots=True)
class Reads:
    """How often the model read a call's status without any news."""

    call: str
    mark: str
    """Fingerprint of what it saw."""
    count: int


@dataclass(frozen=True, slots=True)
class Session:
    """All that a step needs. Its JSON is the snapshot in the session's record; its size does not grow with the log."""

    id: str
    phase: Phase = Phase.IDLE
    turn: int = 0
    """Model answers so far."""
    calls: tuple[TrackedCall, ...] = ()
    inbox: tuple[Pending, ...] = ()
    ends: int = 0
    """Ends of calls seen so far: the next one's position."""
    attached_at: int = 0
    """Store time in ms at which the wait of the newest turn began."""
    failures: int = 0
    """Failed requests in a row for the newest request."""
    retry_at: int = 0
    cause: str = ""
    reads: tuple[Reads, ...] = ()
    looked: tuple[tuple[str, CallState], ...] = ()
    """States read from the records for the hand-back that is being prepared."""


# ---- what arrives ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Acquired:
    """This process has just become the owner: a request without an answer has to be sent again."""


@dataclass(frozen=True, slots=True)
class Received:
    """One mail, unread until now. An outcome too large for mail has been filled in."""

    mail: Mail
    provider_id: str = ""


@dataclass(frozen=True, slots=True)
class Replied:
    """The model's answer; `ids` are fresh ids of ours, one a call."""

    reply: Reply
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AskFailed:
    """The model endpoint gave no usable answer."""

    cause: str
    retryable: bool
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Begun:
    """A capability was begun: what it waits for, if anything."""

    call: str
    targets: tuple[str, ...] = ()
    need: Literal["all", "any"] = "all"
    wait_until: int | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """A capability's answer, as JSON text."""

    call: str
    text: str
    read: tuple[str, ...] = ()
    """Calls whose final result the model has read by it."""
    stopped: tuple[str, ...] = ()
    """Calls whose end by cancel the model has learned by it."""
    seen: Reads | None = None


@dataclass(frozen=True, slots=True)
class Looked:
    """The states of open calls, as their records say."""

    states: tuple[tuple[str, CallState], ...]


Arrival: TypeAlias = Acquired | Received | Replied | AskFailed | Begun | Answered | Looked

# ---- what is decided -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NewCall:
    """A record to write: `waiting`, or ended before it began (`outcome`)."""

    id: str
    tool: str
    arguments: str
    provider_id: str
    turn: int
    position: int
    policy: CallPolicy
    queue: str
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True)
class Queue:
    """Publish these waiting calls, in the same commit."""

    calls: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AskModel:
    """Send the committed history and bring back `Replied` or `AskFailed`."""


@dataclass(frozen=True, slots=True)
class Begin:
    """Begin this capability and bring back `Begun`."""

    call: TrackedCall


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer this capability now and bring back `Answered`."""

    call: TrackedCall


@dataclass(frozen=True, slots=True)
class Look:
    """Bring back the states of these calls as `Looked`."""

    calls: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cancel:
    """Ask for the end of these calls."""

    calls: tuple[str, ...]
    reason: str
    by: Literal["user", "system"]


@dataclass(frozen=True, slots=True)
class Again:
    """Commit, then step once more: the rest of a large turn is still to be recorded."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Calls are open: park until mail or `until` (store time, ms; None: mail alone)."""

    until: int | None


@dataclass(frozen=True, slots=True)
class Park:
    """Nothing to do: `idle` after an answer or a stop, `paused` with the session's cause."""

    status: Literal["idle", "paused"]


Decision: TypeAlias = Queue | AskModel | Begin | Answer | Look | Cancel | Again | Wait | Park

EventKind: TypeAlias = Literal[
    "run.started", "run.ended", "run.paused", "turn.started", "turn.completed", "turn.restarted", "turn.failed"
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
    events: tuple[Event, ...] = ()
    changed: bool = True


@dataclass(frozen=True, slots=True)
class Toolset:
    """The tools of one session as they were listed at its start; they stay so."""

    offers: tuple[ToolOffer, ...] = ()
    digest: str = ""
    by_name: dict[str, ToolOffer] = field(default_factory=dict[str, ToolOffer])
