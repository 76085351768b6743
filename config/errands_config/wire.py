"""The frozen values that cross the store: states, policies, what a worker claims and reports, mail, tool offers.

Field names in the store are the field names here. Version 1; fixtures in `tests/unit/wire_v1/` pin the form.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

WIRE_VERSION = 1


class Frozen(BaseModel):
    """An immutable value; unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class CallState(StrEnum):
    """Where a call is in its life. A final state is entered once and never left."""

    WAITING = "waiting"
    """Recorded, not published: no slot, an earlier runSync call, or a shared limit."""
    QUEUED = "queued"
    """A worker may claim it."""
    RUNNING = "running"
    """One worker holds it."""
    DEFERRED = "deferred"
    """Waits for somebody outside."""
    COMPLETED = "completed"
    FAILED = "failed"
    DENIED = "denied"
    SKIPPED = "skipped"
    EXPIRED = "expired"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    ORPHANED = "orphaned"

    @property
    def is_final(self) -> bool:
        """Whether nothing can change this call any more."""
        return self not in _OPEN


_OPEN = frozenset({CallState.WAITING, CallState.QUEUED, CallState.RUNNING, CallState.DEFERRED})

Actor: TypeAlias = Literal["model", "user", "operator", "system", "deadline"]
"""Who asked for a stop."""

ResultType: TypeAlias = Literal["text", "json"]


class SharedLimit(Frozen):
    """A bound over all sessions and hosts: on what runs at a time, on starts in any 60 seconds, or on both."""

    name: str
    concurrency: int | None = None
    per_minute: int | None = None


class _Tagged(Frozen):
    """One of several forms, told by its tag, which is always written."""

    @model_serializer(mode="wrap")
    def _with_tag(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {"tag": type(self).model_fields["tag"].default, **write(self)}


class Timeout(_Tagged):
    """A try ends as timed out after so many seconds."""

    tag: Literal["timeout"] = "timeout"
    seconds: float


class Retries(_Tagged):
    """Up to `count` further tries inside the attempt."""

    tag: Literal["retries"] = "retries"
    count: int
    backoff_seconds: float = 0.0
    on: tuple[Literal["error", "timeout"], ...] = ("error", "timeout")


class Truncate(_Tagged):
    """A result is cut to so many bytes."""

    tag: Literal["truncate"] = "truncate"
    max_bytes: int


class Hook(Frozen):
    """Who is asked: an executable in a worker's hook folders, or a tool, each by its name."""

    kind: Literal["command", "tool"]
    name: str


class Before(_Tagged):
    """A hook that may change, deny, defer or answer the call."""

    tag: Literal["before"] = "before"
    hook: Hook


class After(_Tagged):
    """A hook that may change or annotate the result."""

    tag: Literal["after"] = "after"
    hook: Hook


Around: TypeAlias = Annotated[Timeout | Retries | Truncate | Before | After, Field(discriminator="tag")]
"""Something around a tool that the worker carries out."""


class Defer(Frozen):
    """The terms on which a call waits for somebody outside, by its disposition."""

    reason: str = ""
    expires_seconds: float | None = None
    """None: as long as the settings allow."""
    attached: bool = True
    """Whether the step waits for it; else the model goes on with a placeholder."""


class Bound(Frozen):
    """An argument that is not the model's: its value is that of a binding of the session's agent file."""

    arg: str
    binding: int
    """Position in `bindings`; the value itself stands in no record."""


class CallPolicy(Frozen):
    """How one call runs, resolved once and stored with the call."""

    disposition: Literal["runSync", "runAsync", "defer"] = "runSync"
    attach_seconds: float | None = None
    """How long a step stays attached to a runAsync call; None: as the yield strategy says."""
    queue: str | None = None
    """A queue that the policy names; None: the tool's own."""
    timeout_seconds: float
    """Longest run of one attempt, from its claim."""
    queue_timeout_seconds: float
    """Longest wait for a worker, from publication."""
    rerun_times: int = 0
    """How often the call is started again when its worker is lost."""
    limits: tuple[SharedLimit, ...] = ()
    """The shared limits of which it takes a slot each."""
    around: tuple[Around, ...] = ()
    """What stands around the tool, the outermost first."""
    defer: Defer | None = None
    """Of a `defer`: its terms."""
    bound: tuple[Bound, ...] = ()
    """Arguments that the worker fills in."""
    label: str = ""
    """A word for lists, logs and metrics."""
    cancellable: bool = True
    """False: the model is told that it cannot be stopped."""
    may_defer: bool = False
    """Whether a hook or the tool may let it wait for somebody outside: where the agent is `asynchronous`."""
    keeps_output: bool = False
    """Whether what it prints is kept while it runs: where the agent's model can read it."""


class ToolOffer(Frozen):
    """One tool as a live worker offers it."""

    name: str
    description: str
    parameters: str
    """JSON schema of the arguments, as compact JSON text: byte-stable."""
    queue: str = "default"
    digest: str
    """Over name, description, parameters and kind; equal digests are the same tool."""
    kind: Literal["function", "bash"]
    agents: tuple[str, ...] = ()
    """Slugs of the agent files this worker was started with whose toolboxes bring this tool."""
    cancellable: bool = True
    timeout_seconds: float | None = None
    """The tool's own limit; the smaller of it and the policy's counts."""
    rerun_times: int = 0
    """How often its calls may be started again when their worker is lost, where the agent's file says nothing."""
    redact: tuple[str, ...] = ()
    """Arguments whose values are not shown to those who decide about a deferred call."""


class TaskMessage(Frozen):
    """What a Celery message carries: ids only. `ticket` is empty until signed tickets come."""

    v: Literal[1] = 1
    call: str
    session: str
    queue: str
    attempt: int
    published: int
    """Store time of publication, milliseconds."""
    ticket: str = ""
    limits: tuple[str, ...] = ()
    """Names of the shared limits that the claim looks at."""


class Approval(Frozen):
    """Somebody's leave to run a call with exactly these arguments, although a hook had asked."""

    hook: str
    """`command approve` or `tool approve`; empty: the disposition had."""
    digest: str
    """Of the arguments that were shown; see `arguments_digest`."""


class Deferral(Frozen):
    """Why a call waits for somebody outside, and for how long."""

    kind: Literal["policy", "hook", "tool", "question"]
    """Who deferred it: its disposition, a hook before it, the tool itself, or the model by asking its user."""
    reason: str = ""
    expires_seconds: float | None = None
    hook: str = ""
    """As `Approval.hook`."""
    arguments: str = ""
    """JSON text of the arguments as they were when it was deferred; empty: those of the record."""


class Claimed(Frozen):
    """A call as the claim hands it to a worker."""

    call: str
    session: str
    conversation: str
    agent: str
    tool: str
    provider_id: str
    arguments: str
    """JSON text of an object."""
    policy: CallPolicy
    turn: int = 0
    """The model's answer that made the call, counted from 1."""
    attempt: int
    token: str
    """128 random bits, hex: this attempt's right to write."""
    deadline_ms: int
    """Milliseconds from now until the attempt is over time."""
    approved: tuple[Approval, ...] = ()


class Outcome(Frozen):
    """How a call ended. `result` is for `completed`, `error` for every other end."""

    state: CallState
    result: str = ""
    result_type: ResultType = "text"
    error: str = ""
    error_kind: str = ""
    """What kind of failure, for events and logs: `ValueError`, `exit code 2`. Never has content of a call in it."""
    by: str = ""
    """Who asked for a cancel."""
    reason: str = ""
    confirmed: bool = True
    """False: the stop was asked for, but nobody can say whether the tool took effect."""
    timeout_seconds: float | None = None
    """The limit that a timed-out call ran into."""
    noted: bool = False
    """A hook's note stands in the text; lines of the tool's own that look like one were marked before it came there."""


MailKind: TypeAlias = Literal[
    "userMessage",
    "agentMessage",
    "toolCallFinished",
    "toolCallNotify",
    "toolCallDeferred",
    "toolCallApproved",
    "continuationResult",
    "control",
]
"""`toolCallDeferred`: a running call waits for somebody outside from now on; `toolCallApproved`: it is queued again;
`continuationResult`: an answer to a question that had ended."""
ControlVerb: TypeAlias = Literal["pause", "resume", "stopRun", "cancelAllAttached", "cancelCalls"]
"""What a control mail asks of a session; its text is the verb."""
Priority: TypeAlias = Literal["normal", "interrupt"]
HOPS_BOUND = 16
"""How often a letter may have been answered by another one."""


class Mail(Frozen):
    """One envelope of a session's mailbox."""

    seq: str
    """Stream id; the order of the mailbox and its cursor."""
    id: str
    kind: MailKind
    sender: str
    """`user`, `system`, a call's or a session's id."""
    priority: Priority = "normal"
    hops: int = 0
    """Letters that were answered on the way to this one."""
    expects_reply: bool = False
    at: int
    """Store time, milliseconds."""
    text: str = ""
    """Message or notify text; the verb of a control mail."""
    call: str = ""
    starts: int = 1
    """How often the call that ended was started."""
    calls: tuple[str, ...] = ()
    """The calls that a `cancelCalls` means, by our ids."""
    turns: int = 0
    """Of a `resume`: pause again after so many answers of the model; 0: go on."""
    outcome: Outcome | None = None
    truncated: bool = False
    """True: the outcome's result is too large for mail and stands in the call's record only."""
