"""What every command prints with `--json`, as types: their names, order and nulls are part of the contract.

`errands schema COMMAND` prints them as JSON schemas; a test runs every command and compares.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter

from errands_config.wire import CallPolicy, CallState, ResultType
from errands_orchestrator.cli.checks.finding import Level
from errands_orchestrator.cli.up_news import News
from errands_orchestrator.cli.watching import RunStatus
from errands_orchestrator.deferred import Verdict
from errands_orchestrator.export import Export
from errands_orchestrator.pending import DeferralKind
from errands_orchestrator.session import Entry
from errands_orchestrator.sessions import Status

Moment: TypeAlias = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$")]
"""A time, UTC."""
Word: TypeAlias = Annotated[str, Field(min_length=1)]
"""A text that is null, not empty, where there is none."""


class Printed(BaseModel):
    """A JSON object that a command prints: exactly these names, in this order."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Ended(Printed):
    """How a watched run ended."""

    session_id: str
    status: RunStatus
    answer: str | None
    """What the model said last, of a run that completed."""


class DeferredCall(Printed):
    """A call that a blocked run waits for."""

    tool: str
    tool_call_id: str
    """The id that the model used."""
    continuation_token: str


class Blocked(Printed):
    """A run that only somebody outside can make go on; exit code 6."""

    status: Literal["paused"]
    reason: Literal["waiting for deferred tool calls"]
    session_id: str
    deferred_calls: list[DeferredCall]


class SessionRow(Printed):
    """A session in a list."""

    session_id: str
    agent: str
    status: Status
    created_at: Moment
    updated_at: Moment
    running_calls: int


class SessionPrinted(Printed):
    """A session with all that the model saw."""

    session_id: str
    entries: list[Annotated[Entry, Field(discriminator="kind")]]


class SessionStarted(Printed):
    """A new session."""

    session_id: str
    agent: str
    status: Status


class StepCall(Printed):
    """A call that goes on behind a step."""

    tool_call_id: str
    provider_call_id: str
    tool: str
    status: CallState


class Stepped(Printed):
    """What came of one step."""

    session_id: str
    status: RunStatus
    cause: Word | None
    said: str
    answer: str | None
    """What was said, of a run that ended with it."""
    running_calls: list[StepCall]


class Sent(Printed):
    """The receipt of a message."""

    id: str
    seq: str
    duplicate: bool


class SessionPaused(Printed):
    """A session that stands still, and why."""

    session_id: str
    status: Literal["paused"]
    cause: str


class SessionStopped(Printed):
    """A session whose run was ended, and how it ended."""

    session_id: str
    status: str


class CallListed(Printed):
    """A call in a list."""

    tool_call_id: str
    provider_call_id: Word | None
    task_handle: Word | None
    session_id: str
    tool: str
    status: CallState
    attempt: int
    label: Word | None
    worker: Word | None
    queued_at: Moment | None
    started_at: Moment | None
    completed_at: Moment | None


class CallPending(CallListed):
    """A call that waits for somebody outside."""

    reason: Word | None
    expires_at: Moment
    kind: DeferralKind
    deferred_at: Moment
    arguments: dict[str, JsonValue]
    continuation_token: str = ""
    """Only there with `--show-tokens`."""


class CallResolved(Printed):
    """What came of an answer from outside."""

    tool_call_id: str
    session_id: str
    tool: str
    outcome: Verdict


class CallShown(CallListed):
    """One call, whole."""

    queue: str
    shared_limit: str | None
    """The shared limit that it waits for, and its place in line, from 1."""
    place: int | None
    policy: CallPolicy
    arguments: JsonValue
    result: str | None
    result_type: ResultType | None
    error: Word | None
    error_kind: Word | None
    by: Word | None
    reason: Word | None
    confirmed: bool | None
    """False of a cancelled call: it may have taken effect."""
    timeout_seconds: float | None


class ProgressLine(Printed):
    """One report of a call."""

    at: Moment
    payload: JsonValue


class CallCancelled(Printed):
    """What became of the wish to end a call."""

    tool_call_id: str
    cancelled: bool
    previous_status: CallState
    status: CallState
    cancel_requested: Literal[True] = True
    """Only there where the call has not ended yet."""


class ToolRow(Printed):
    """A tool under one digest."""

    name: str
    queue: str
    kind: Literal["function", "bash"]
    digest: str
    workers: int
    conflict: bool
    agents: list[str]
    description: str
    parameters: dict[str, JsonValue]


class ToolCalled(Printed):
    """What a tool answered."""

    tool_call_id: str
    status: CallState
    result: str | None
    error: Word | None


class AgentChecked(Printed):
    """What was found of one agent file."""

    file: str
    ok: bool
    slug: Word | None
    digest: Word | None
    error: Word | None
    notes: list[str]
    """What is allowed and yet does not act."""


class Layer(Printed):
    """Decorators from one place of an agent file, as they stand there, the outermost first."""

    path: str
    decorators: list[dict[str, JsonValue]]


class RuleApplied(Layer):
    """The rule of a call, or the default."""

    disposition: dict[str, JsonValue]


class NotApplied(Printed):
    """What keeps a wrapper or a rule from a call, and where it stands."""

    path: str
    reason: str


class CallExplained(Printed):
    """How a call would run."""

    tool: str
    rule: RuleApplied
    wrappers: list[Layer]
    """Those that apply, the outermost first."""
    others: list[NotApplied]
    notes: list[str]
    policy: CallPolicy


class AgentRow(Printed):
    """An agent that has run."""

    slug: str
    digest: str
    announce: str | None


class Found(Printed):
    """One finding of the doctor."""

    check: str
    level: Level
    text: str
    advice: str
    """Empty where all is well."""


@dataclass(frozen=True)
class Form:
    """What a command prints: one document of a type, or one on each line."""

    type: Any
    lines: bool = False

    @cached_property
    def adapter(self) -> TypeAdapter[Any]:
        """What validates it."""
        return TypeAdapter(self.type)


FORMS: Mapping[str, Form] = {
    "agent check": Form(list[AgentChecked]),
    "agent explain": Form(CallExplained),
    "agent list": Form(list[AgentRow]),
    "calls cancel": Form(CallCancelled | list[CallCancelled] | list[CallListed]),
    "calls logs": Form(ProgressLine, lines=True),
    "calls ls": Form(list[CallListed]),
    "calls show": Form(CallShown),
    "doctor": Form(list[Found]),
    "run": Form(Ended | Blocked),
    "session answer": Form(CallResolved),
    "session approve": Form(CallResolved),
    "session cancel": Form(SessionStopped),
    "session complete": Form(CallResolved),
    "session deny": Form(CallResolved),
    "session export": Form(Export),
    "session fail": Form(CallResolved),
    "session list": Form(list[SessionRow]),
    "session pause": Form(SessionPaused),
    "session pending": Form(list[CallPending]),
    "session print": Form(SessionPrinted),
    "session resume": Form(Ended | Blocked),
    "session send": Form(Sent),
    "session start": Form(SessionStarted | Stepped),
    "session step": Form(Stepped),
    "tools call": Form(ToolCalled),
    "tools list": Form(list[ToolRow]),
    "up": Form(News, lines=True),
}
"""By the words of the command.

`run` and `session resume` print the second of a run that waits for somebody outside, with or without `--json`;
`calls cancel` the first of one call that is named alone, then that of several and of a dry run; `session start` the
second with `--step`.
"""
