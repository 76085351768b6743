"""The session as values: what the log holds, and what is tracked between two steps.

Nothing here does anything. `stepper.step` turns one `Session` and some arrivals into the next one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal, TypeAlias

from errands_config.wire import CallPolicy, CallState, Deferral, Outcome
from errands_orchestrator.room import Room

# ---- the log: what the model saw, entry by entry, never changed -------------------------------------------------


@dataclass(frozen=True, slots=True)
class ShownCall:
    """A call as it stands in the history: with the id and the arguments that are sent back to the model."""

    id: str
    """Unique within its message, never empty."""
    name: str
    arguments: str
    """JSON text of an object."""
    is_async: bool = False
    """It has no message until it ends, in whatever turn that is."""


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """The one tool message of one call."""

    id: str
    """As it stands in the history."""
    call: str
    """Ours; empty for a capability."""
    name: str
    state: CallState
    text: str
    placeholder: bool = False
    mail: int = 0
    """How many characters at the end of the text are mail."""


@dataclass(frozen=True, slots=True)
class UserEntry:
    """One user message: texts of people, late results, mail."""

    text: str
    kind: Literal["user"] = "user"
    from_person: bool = False
    """Whether a person's words are in it."""
    short: str = ""
    """The text with each late result in one line, where the agent compacts and that is less; else empty."""


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


@dataclass(frozen=True, slots=True)
class CompactionEntry:
    """From here on the model sees results in one line each that it had before its answer of this number, from 1."""

    before: int
    read_with: str = ""
    """The capability by which it reads one whole again; empty: it has none."""
    kind: Literal["compaction"] = "compaction"


Entry: TypeAlias = UserEntry | AssistantEntry | ToolsEntry | CompactionEntry

# ---- the tracked state -----------------------------------------------------------------------------------------


class Phase(StrEnum):
    """What a session owes next."""

    IDLE = "idle"
    """Nothing: no run is going on."""
    READY = "ready"
    """A request to the model. Passes within a step, unless the session is paused."""
    ASKING = "asking"
    """A request is committed; its answer is not."""
    ATTACHED = "attached"
    """The tool messages of the newest turn: the step has not handed back yet."""
    RESTING = "resting"
    """The model ended its turn; what is still open decides whether the run ends."""


Attach: TypeAlias = Literal["forever", "strategy", "deadline"]
"""How long a step waits for a call: runSync and defer; runAsync as the agent's yield strategy says; runAsync with a
time."""


StopReason: TypeAlias = Literal[
    "", "run cancelled", "run ended", "run failed", "session paused", "cancelled by user", "replaced by an equal call"
]
"""Why a session asked for the end of a call of its own; empty: it did not."""


@dataclass(frozen=True, slots=True)
class Dependency:
    """A call that another one waits for."""

    call: str
    name: str
    """As the model names it."""
    done: bool = False
    """It has completed."""


@dataclass(frozen=True, slots=True)
class TrackedCall:
    """A tool call whose news the model has not had, or not whole."""

    id: str
    provider_id: str
    """As it stands in the history: unique within its message, never empty."""
    name: str
    turn: int
    position: int
    """Place in its message, from 0."""
    attach: Attach
    attach_until: int = 0
    """Store time in ms at which a `deadline` call detaches."""
    state: CallState = CallState.WAITING
    """`queued` from publication to the end: who runs it, and whether, stands in its record. `deferred` while somebody
    outside is waited for."""
    text: str = ""
    """What the model is told of its end, capped and framed; empty while it is open."""
    ended: int = 0
    """Position in the order in which ends and letters came; 0 while open."""
    detached: str = ""
    """Why the step let go of it: `interrupted`, `still running after 10s`, `waiting for outside`."""
    buried: bool = False
    """A person spoke, or another turn made calls, after its placeholder."""
    known: Literal["", "read", "paged", "waited", "stopped"] = ""
    """How the model has had the news already: it read the result at once or page by page, waited for it, or its own
    cancel ended the call."""
    reran: bool = False
    """It was started again from the beginning after its worker was lost."""
    stopping: StopReason = ""
    """Its end is asked for, and it is not published any more."""
    handle: str = ""
    """The name that the model gave it."""
    depends: tuple[Dependency, ...] = ()
    """What it waits for. Emptied once all have completed and its arguments and policy are settled."""
    same_as: str = ""
    """The call that it stands for and ends with; nothing of it runs."""
    likeness: str = ""
    """Fingerprint of its arguments, where equal calls are looked for."""
    confirmed: bool = False
    """The model wants it to run beside an equal one."""
    is_async: bool = False
    """It gets no placeholder: the one message of it, in whatever turn it ends, is its result."""
    has_namesake: bool = False
    """The provider has used its id again, so that the id means a later call."""

    @property
    def readable_as(self) -> str:
        """By what the model reads of it: the id that it knows, as long as that means no other call."""
        return self.id if self.has_namesake else self.provider_id

    @property
    def is_final(self) -> bool:
        """Whether its end has come."""
        return self.state.is_final

    @property
    def is_deferred(self) -> bool:
        """Whether somebody outside is to end it, or to give leave for it."""
        return self.state is CallState.DEFERRED


@dataclass(frozen=True, slots=True)
class CapabilityCall:
    """A question of the newest turn about calls. It has no record and takes no slot."""

    id: str
    provider_id: str
    name: str
    position: int
    arguments: str
    """JSON text of an object that its schema accepts; `{}` if it was refused."""
    begun: bool = False
    targets: tuple[str, ...] = ()
    """Ids of the calls whose end it waits for."""
    any_of: bool = False
    """Whether the end of one of them is enough."""
    wait_until: int | None = None
    """Store time in ms; None: no wait, it is answered when the step hands back."""
    woken_by: Literal["", "user", "notify", "mail"] = ""
    """What ended its wait early."""
    answer: str | None = None


@dataclass(frozen=True, slots=True)
class Pending:
    """Something for the next user message."""

    kind: Literal["user", "notify", "mail"]
    text: str
    """Whole text of its block, framed."""
    interrupt: bool = False
    """It ends the wait of the newest turn at once."""
    exempt: bool = False
    """It does not count against the bound of the mailbox."""
    came: int = 0
    """Position in the order in which it and ends of calls came."""


@dataclass(frozen=True, slots=True)
class Reads:
    """How often the model read a call's status without any news."""

    call: str
    mark: str
    """Fingerprint of what it saw."""
    count: int


@dataclass(frozen=True, slots=True)
class NewCall:
    """A record to write: `waiting`, or ended before it began (`outcome`), or for somebody outside (`deferral`)."""

    id: str
    tool: str
    arguments: str
    """JSON text of an object."""
    provider_id: str
    turn: int
    position: int
    policy: CallPolicy
    queue: str
    outcome: Outcome | None = None
    deferral: Deferral | None = None
    handle: str = ""
    """Bound to it for the rest of the conversation."""
    key: str = ""
    """Its idempotency key, bound as well."""
    likeness: str = ""
    """Of the call that the key is bound to."""
    same_as: str = ""
    """The call that it stood for; whoever refers to it means that one's result."""
    again: bool = False
    """It stands in the store, waiting, and is settled now that what it depends on has completed."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a call that was recorded and never published."""

    id: str
    outcome: Outcome
    same_as: str = ""
    """The call that it stood for."""


@dataclass(frozen=True, slots=True)
class Session:
    """All that a step needs. Its JSON is the snapshot in the session's record; its size does not grow with the log."""

    id: str
    phase: Phase = Phase.IDLE
    turn: int = 0
    """Model answers so far."""
    calls: tuple[TrackedCall, ...] = ()
    """In the order in which they were made."""
    asked: tuple[CapabilityCall, ...] = ()
    """The capabilities of the newest turn until it is handed back."""
    unrecorded: tuple[NewCall, ...] = ()
    """What is left to record of a turn with more calls than one commit takes."""
    inbox: tuple[Pending, ...] = ()
    has_rest: bool = False
    """The newest request could not hold all that was to be told; the rest goes with the next one, at once."""
    room: Room | None = None
    """What the next request still takes, where mail stands in its tool messages already; None: all that it may."""
    attached_at: int = 0
    """Store time in ms at which the wait of the newest turn began."""
    handing_back: bool = False
    """The wait of the newest turn is over; its answers and states are being collected."""
    looked: tuple[tuple[str, CallState], ...] = ()
    """States read from the records for that."""
    failures: int = 0
    """Failed requests in a row for the newest request."""
    retry_at: int = 0
    """Store time in ms before which the newest request is not sent again."""
    cause: str = ""
    """Why it is paused: nothing is asked or handed back until it is resumed; its calls go on. Empty: it is not."""
    pause_after: int = 0
    """The turn behind which it is paused again; 0: none."""
    heard: int = 0
    """Letters, of those that count against the bound of the mailbox, which it has done with."""
    reads: tuple[Reads, ...] = ()
    """Status reads of this run, newest last."""
    compacted: int = 0
    """Turns whose results are in short."""
    digest_mark: str = ""
    """Fingerprint of the digest that was sent last."""
    digest_turn: int = 0
    """The turn behind which it was sent."""
    blocked: bool = False
    """Its run waits for somebody outside and for nothing else, and whoever watches was told so."""

    @property
    def is_paused(self) -> bool:
        """Whether it stands still until it is resumed."""
        return bool(self.cause)

    @property
    def attached(self) -> tuple[TrackedCall, ...]:
        """The calls of the newest turn that have no message yet. All others have had a placeholder, or need none."""
        if self.phase is not Phase.ATTACHED:
            return ()
        return tuple(call for call in self.calls if call.turn == self.turn)

    @property
    def next_place(self) -> int:
        """Position of what comes next in the order in which ends and letters came."""
        ends = (call.ended for call in self.calls)
        return 1 + max((*ends, *(item.came for item in self.inbox)), default=0)

    @property
    def answered_here(self) -> frozenset[str]:
        """Ids of the calls whose own messages, if they have ended, stand beside the answers of the newest turn."""
        late = (call.id for call in self.calls if call.is_async and call.is_final)
        return frozenset((*late, *(call.id for call in self.attached)))

    def with_call(self, changed: TrackedCall) -> Session:
        """This session with one tracked call changed."""
        return replace(self, calls=tuple(changed if call.id == changed.id else call for call in self.calls))
