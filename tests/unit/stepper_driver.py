"""Drives `step` by hand: a session, its log as a checked transcript, and short makers of everything that can arrive."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal

from errands_config.agent import parse_agent
from errands_config.policy import compile_policy
from errands_config.wire import CallState, ControlVerb, Mail, MailKind, Outcome, ToolOffer
from errands_orchestrator.arrivals import Acquired, Answered, Arrival, Begun, Looked, Received, Replied
from errands_orchestrator.brief import Brief, Toolset
from errands_orchestrator.decisions import Answer, Begin, Decision, Look, Step
from errands_orchestrator.models.model import Finish, ModelCall, Reply
from errands_orchestrator.session import Entry, Session, ToolMessage, ToolsEntry, TrackedCall, UserEntry
from errands_orchestrator.snapshot import dump_entry, dump_session, load_entry, load_session
from errands_orchestrator.stepper import step
from errands_orchestrator.transcript import Transcript

START = 1_000_000
ANY_PROGRESS = "yieldOnAnyProgress"
ALL_DONE = "yieldWhenAllDone"
ASK = "ask-user"
STATUS, RUNNING, CANCEL = "get-tool-call-status", "list-running-tool-calls", "cancel-tool-call"
WAIT = "wait-for-tool-calls"
DISPOSITIONS: dict[str, dict[str, Any]] = {
    "wait": {"tag": "runSync"},
    "wait_too": {"tag": "runSync"},
    "work": {"tag": "runAsync"},
    "work_too": {"tag": "runAsync"},
    "two_seconds": {"tag": "runAsync", "attachSeconds": 2},
    "never": {"tag": "runAsync", "attachSeconds": 0},
    "gate": {"tag": "defer", "reason": "somebody has to agree"},
    "side_gate": {"tag": "defer", "reason": "somebody may agree", "attached": False},
}
"""The tools of every driven agent, by how they run."""
SCHEMA = '{"type":"object","properties":{"x":{"type":"integer"}}}'


def yield_on_timeout(milliseconds: int) -> dict[str, Any]:
    return {"tag": "yieldOnTimeout", "milliseconds": milliseconds}


def make_brief(
    strategy: object = ALL_DONE,
    *,
    mode: str = "asynchronous",
    slots: int = 4,
    capabilities: Sequence[str] | None = None,
    offers: Sequence[ToolOffer] = (),
    async_tools: bool = False,
    **more: object,
) -> Brief:
    rules = [{"tool": tool, "disposition": disposition} for tool, disposition in DISPOSITIONS.items()]
    system = {"tag": "SystemToolbox", "contents": {"Capabilities": list(capabilities or ())}}
    written: dict[str, object] = {
        "slug": "driven",
        "executionMode": mode,
        "asyncYieldStrategy": strategy,
        "maxConcurrency": slots,
        "toolCallPolicyConfig": {"default": {"tag": "runSync"}, "rules": rules},
        **({} if capabilities is None else {"builtinToolboxes": [system]}),
        **more,
    }
    agent = parse_agent(json.dumps(written), origin="a test")
    return Brief(agent, compile_policy(agent), Toolset((*map(make_offer, DISPOSITIONS), *offers)), async_tools)


def make_offer(name: str, parameters: str = SCHEMA, **more: Any) -> ToolOffer:
    return ToolOffer(name=name, description=f"Does {name}.", parameters=parameters, digest="d", kind="function", **more)


def call(name: str, provider_id: str = "a", arguments: str = "{}") -> ModelCall:
    return ModelCall(provider_id, name, arguments)


def done(result: str = "fine") -> Outcome:
    return Outcome(state=CallState.COMPLETED, result=result)


_SEQ = count(1)


def mail(kind: MailKind, text: str = "", *, sender: str = "user", **more: Any) -> Received:
    seq = next(_SEQ)
    return Received(Mail(seq=f"{seq}-0", id=f"m{seq}", kind=kind, sender=sender, at=START, text=text, **more))


def said(text: str) -> Received:
    return mail("userMessage", text)


def interrupted(text: str) -> Received:
    return mail("userMessage", text, priority="interrupt")


def control(verb: ControlVerb, **more: Any) -> Received:
    return mail("control", verb, **more)


def finished(call_id: str, outcome: Outcome | None = None) -> Received:
    return mail("toolCallFinished", sender=call_id, call=call_id, outcome=outcome or done())


def moved(kind: Literal["toolCallDeferred", "toolCallApproved"], call_id: str) -> Received:
    return mail(kind, sender="system", call=call_id)


def notified(call_id: str, text: str = "look", mail_id: str = "n1") -> Received:
    sent = mail("toolCallNotify", text, sender=call_id, call=call_id)
    return Received(sent.mail.model_copy(update={"id": mail_id}))


@dataclass
class Driver:
    """One session. Calls get the ids c1, c2, … in the order in which the model makes them."""

    brief: Brief = field(default_factory=make_brief)
    session: Session = field(default_factory=lambda: Session("s1"))
    now: int = START
    log: list[Entry] = field(default_factory=list[Entry])
    last: Step = field(init=False)
    minted: int = 0

    def __post_init__(self) -> None:
        self.transcript = Transcript("You are driven.", self.brief.dialect)

    def take(self, *arrivals: Arrival, after: int = 0) -> tuple[Decision, ...]:
        """Step with these arrivals, `after` ms later, and commit."""
        self.now += after
        self.last = step(self.brief, self.session, arrivals, self.now)
        assert step(self.brief, self.session, arrivals, self.now) == self.last
        self.session = load_session(dump_session(self.last.session))
        assert self.session == self.last.session
        for entry in self.last.log:
            assert load_entry(dump_entry(entry)) == entry
            self.transcript.append(entry)
        self.log += self.last.log
        return self.last.decisions

    def answer(self, *calls: ModelCall, text: str = "", finish: Finish = "tool_calls") -> Replied:
        """An answer of the model, with fresh ids for its calls."""
        ids = tuple(f"c{self.minted + number}" for number in range(1, len(calls) + 1))
        self.minted += len(calls)
        return Replied(Reply(text, calls, finish), ids)

    def reply(self, *calls: ModelCall, text: str = "", finish: Finish = "tool_calls") -> tuple[Decision, ...]:
        """The model answers; its capabilities are begun and wait for nothing."""
        decisions = self.take(self.answer(*calls, text=text, finish=finish))
        begins = [decision.call.id for decision in decisions if isinstance(decision, Begin)]
        return self.take(*map(Begun, begins)) if begins else decisions

    def begin_run(self, text: str = "go") -> tuple[Decision, ...]:
        return self.take(Acquired(), said(text))

    def bring(self, **states: CallState) -> tuple[Decision, ...]:
        """Bring what the last step asked for: empty answers, and the states, `running` where none is given."""
        return self.take(*(self.brought(it, states) for it in self.last.decisions if isinstance(it, Answer | Look)))

    def brought(self, wanted: Answer | Look, states: dict[str, CallState]) -> Arrival:
        if isinstance(wanted, Answer):
            return Answered(wanted.call.id, "{}")
        return Looked(tuple((call_id, states.get(call_id, CallState.RUNNING)) for call_id in wanted.calls))

    def tracked(self, call_id: str) -> TrackedCall:
        return next(it for it in self.session.calls if it.id == call_id)

    @property
    def tool_messages(self) -> list[ToolMessage]:
        """Those of the newest turn that was handed back."""
        return list(next(entry for entry in reversed(self.log) if isinstance(entry, ToolsEntry)).messages)

    @property
    def user_text(self) -> str:
        """The newest user message."""
        return next(entry for entry in reversed(self.log) if isinstance(entry, UserEntry)).text

    @property
    def events(self) -> list[str]:
        return [event.kind for event in self.last.events]
