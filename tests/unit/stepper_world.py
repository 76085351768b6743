"""A small world around `step`: a store that commits, workers that claim and end calls, an owner that crashes.

The world keeps an account of its own of what must come of every call, mail and message, and compares.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal, TypeAlias

from tests.unit.stepper_driver import CANCEL, START, STATUS, WAIT

from errands_config.wire import CallState, Mail, MailKind, Outcome
from errands_orchestrator.arrivals import Acquired, Answered, Arrival, Begun, Looked, Received
from errands_orchestrator.brief import Brief
from errands_orchestrator.decisions import (
    Again,
    Answer,
    AskModel,
    Begin,
    Cancel,
    Decision,
    Event,
    Look,
    Park,
    Queue,
    Step,
    Wait,
)
from errands_orchestrator.session import (
    AssistantEntry,
    CapabilityCall,
    Entry,
    NewCall,
    Session,
    ToolsEntry,
    UserEntry,
)
from errands_orchestrator.snapshot import dump_session, load_session
from errands_orchestrator.stepper import step
from errands_orchestrator.texts import notice_word
from errands_orchestrator.transcript import Transcript
from errands_orchestrator.turn import RECORDS_A_STEP

Crash: TypeAlias = Literal["none", "before", "after"]
"""Whether the owner dies just before or just after a commit."""

HEAD = re.compile(r"^tool_call_id (.*) \((.*)\) ([a-z ]+):( .*)?$", re.MULTILINE)
MOST_STEPS = 60
"""No session takes more steps than this without waiting for somebody."""


@dataclass
class Record:
    """A call as the store keeps it."""

    new: NewCall
    state: CallState = CallState.WAITING
    outcome: Outcome | None = None
    wish: bool = False
    approved: bool = False
    """Somebody outside gave it back to its queue, whatever else runs."""

    @property
    def is_background(self) -> bool:
        return self.new.policy.disposition == "runAsync"

    @property
    def holds_place(self) -> bool:
        """Whether the runSync calls behind it in its turn have to wait for its end."""
        return not (self.is_background or self.approved or self.state.is_final or self.state is CallState.DEFERRED)


@dataclass
class World:
    """The store, and the one session in it."""

    brief: Brief
    now: int = START
    snapshot: str = dump_session(Session("s1"))
    log: list[Entry] = field(default_factory=list[Entry])
    records: dict[str, Record] = field(default_factory=dict[str, Record])
    mail: list[Mail] = field(default_factory=list[Mail])
    cursor: int = 0
    accepted: int = 0
    """Letters that count against the bound of the mailbox."""
    queued: Counter[str] = field(default_factory=Counter[str])
    known: dict[str, str] = field(default_factory=dict[str, str])
    """Calls whose end the model learned from an answer, and how."""
    tokens: dict[str, int] = field(default_factory=dict[str, int])
    """Texts that must stand in the log so many times in the end."""
    running: bool = False
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        self.transcript = Transcript("p")

    # ---- mail and workers

    def send(self, kind: MailKind, text: str = "", call: str = "", outcome: Outcome | None = None, **more: Any) -> None:
        seq = len(self.mail) + 1
        self.accepted += kind in ("userMessage", "toolCallNotify")
        sent = Mail(
            seq=f"{seq}-0",
            id=f"m{seq}",
            kind=kind,
            sender=call or "user",
            at=self.now,
            text=text,
            call=call,
            outcome=outcome,
            **more,
        )
        self.mail.append(sent)

    def token(self, times: int = 1) -> str:
        token = f"<{next(self.numbers)}>"
        self.tokens[token] = times
        return token

    def end(self, record: Record, outcome: Outcome) -> None:
        if not record.state.is_final:
            record.state, record.outcome = outcome.state, outcome
            self.send("toolCallFinished", call=record.new.id, outcome=outcome)

    def cancel(self, call_id: str) -> None:
        record = self.records[call_id]
        record.wish = True
        if record.state in (CallState.WAITING, CallState.QUEUED, CallState.DEFERRED):
            self.end(record, Outcome(state=CallState.CANCELLED))

    def defer(self, record: Record) -> None:
        record.state = CallState.DEFERRED
        self.send("toolCallDeferred", call=record.new.id)

    def approve(self, record: Record) -> None:
        record.state, record.approved = CallState.QUEUED, True
        self.send("toolCallApproved", call=record.new.id)

    def open_records(self, *states: CallState) -> list[Record]:
        return [record for record in self.records.values() if record.state in states]

    @property
    def unread(self) -> tuple[Received, ...]:
        return tuple(map(Received, self.mail[self.cursor :]))

    # ---- commit

    def commit(self, step: Step, cursor: int) -> None:
        before = load_session(self.snapshot)
        check_nothing_final_changed(before, step.session)
        self.snapshot = dump_session(step.session)
        assert load_session(self.snapshot) == step.session
        self.cursor = cursor
        for entry in step.log:
            self.transcript.append(entry)
        self.log += step.log
        self.write(step.records)
        for decision in step.decisions:
            if isinstance(decision, Queue):
                assert not any(call.stopping for call in step.session.calls if call.id in decision.calls)
                self.publish(decision.calls)
        for event in step.events:
            self.hear(event)
        if Event("run.ended", (("status", "completed"),)) in step.events and self.brief.agent.on_run_end == "wait":
            assert all(call.is_final and call.known for call in step.session.calls)
            assert not step.session.inbox

    def hear(self, event: Event) -> None:
        """Runs follow one another, and everything else but pausing happens within one."""
        if event.kind in ("run.paused", "run.resumed"):
            return
        assert self.running == (event.kind != "run.started")
        self.running = event.kind != "run.ended"

    def learned(self, arrivals: Sequence[Arrival], session: Session) -> None:
        owed = {call.id for call in session.calls}
        for arrival in arrivals:
            if isinstance(arrival, Answered):
                learned = dict.fromkeys(arrival.stopped, "stopped") | dict.fromkeys(arrival.waited, "waited")
                learned |= dict.fromkeys(arrival.read, "read")
                self.known = {call: how for call, how in learned.items() if call in owed} | self.known

    def write(self, records: Sequence[NewCall]) -> None:
        assert len(records) <= RECORDS_A_STEP
        for new in records:
            assert new.id not in self.records
            born = CallState.DEFERRED if new.deferral else CallState.WAITING
            state = new.outcome.state if new.outcome else born
            self.records[new.id] = Record(new, state, new.outcome)

    def publish(self, calls: Sequence[str]) -> None:
        self.queued.update(calls)
        for call_id in calls:
            record = self.records[call_id]
            assert record.new.outcome is None
            if record.state is CallState.WAITING:
                record.state = CallState.QUEUED
            if not record.is_background:
                earlier = [
                    it
                    for it in self.records.values()
                    if it.new.turn == record.new.turn and it.new.position < record.new.position
                ]
                assert not any(it.holds_place for it in earlier)
        assert max(self.queued.values()) == 1
        published = self.open_records(CallState.QUEUED, CallState.RUNNING)
        assert (
            sum(record.is_background and not record.approved for record in published)
            <= self.brief.agent.max_concurrency
        )


def check_nothing_final_changed(before: Session, after: Session) -> None:
    now = {call.id: call for call in after.calls}
    for call in before.calls:
        if call.is_final and call.id in now:
            left = now[call.id]
            assert (left.state, left.text, left.ended) == (call.state, call.text, call.ended)


@dataclass
class Owner:
    """The process that steps the session; it holds nothing that the world does not."""

    world: World
    asking: bool = False
    """A request to the model is in flight."""

    def wake(self, crashes: Sequence[Crash] = ()) -> None:
        """Acquire the session and step it until it is parked, asks the model, or the owner dies."""
        self.session = load_session(self.world.snapshot)
        self.run((Acquired(), *self.world.unread), crashes)

    def run(self, arrivals: Sequence[Arrival] | None, crashes: Sequence[Crash] = ()) -> None:
        plan = iter(crashes)
        for _ in range(MOST_STEPS):
            if arrivals is None:
                return
            done = self.step(arrivals)
            crash = next(plan, "none")
            if crash == "before":
                self.die()
                return
            if done.changed:
                self.world.learned(arrivals, self.session)
                self.world.commit(done, self.read)
                self.session = done.session
            if crash == "after":
                self.die()
                return
            arrivals = self.act(done)
        raise AssertionError("the session steps on and on and waits for nobody")

    def step(self, arrivals: Sequence[Arrival]) -> Step:
        done = step(self.world.brief, self.session, arrivals, self.world.now)
        assert step(self.world.brief, self.session, arrivals, self.world.now) == done
        assert done.changed or done.session == self.session
        self.read = self.world.cursor + sum(isinstance(it, Received) for it in arrivals)
        return done

    def die(self) -> None:
        self.asking = False

    # ---- act

    def act(self, done: Step) -> Sequence[Arrival] | None:
        decisions = [decision for decision in done.decisions if not isinstance(decision, Queue | Cancel)]
        for decision in done.decisions:
            if isinstance(decision, Cancel):
                for call_id in decision.calls:
                    self.world.cancel(call_id)
        if self.asking and decisions == [AskModel()] and not done.log:
            return None
        self.asking = False
        if all(isinstance(decision, Begin | Answer | Look) for decision in decisions):
            assert decisions
            return tuple(map(self.bring, decisions))
        (decision,) = decisions
        unborn = {record.id for record in self.session.unrecorded}
        stopping = [call.id for call in self.session.calls if call.stopping and not call.is_final]
        assert all(call_id in unborn or self.world.records[call_id].wish for call_id in stopping)
        return self.stand(decision)

    def stand(self, decision: Decision) -> Sequence[Arrival] | None:
        match decision:
            case Again():
                assert self.session.unrecorded
                return ()
            case AskModel():
                self.asking = True
                check_acceptable(self.world.transcript.messages())
                return None
            case Wait(until=until, outside=outside):
                assert outside == self.session.blocked
                return self.park(until)
            case _:
                assert isinstance(decision, Park)
                assert decision.status == ("paused" if self.session.is_paused else self.session.phase)
                return self.world.unread or None

    def park(self, until: int | None) -> Sequence[Arrival] | None:
        world = self.world
        assert not self.session.unrecorded
        if world.unread:
            return world.unread
        if until is None:
            assert world.open_records(CallState.QUEUED, CallState.RUNNING, CallState.DEFERRED), (
                "nobody will ever wake this session"
            )
            return None
        assert until > world.now, "a timer that is over already: the session would never rest"
        return None

    def bring(self, decision: Decision) -> Arrival:
        match decision:
            case Begin(call=call):
                return self.begin(call)
            case Answer(call=call):
                return self.answer(call)
            case _:
                assert isinstance(decision, Look)
                return Looked(tuple((call_id, self.world.records[call_id].state) for call_id in decision.calls))

    def begin(self, call: CapabilityCall) -> Begun:
        if call.name == WAIT:
            return self.begin_wait(call)
        target = self.target(call)
        if call.name == CANCEL and target:
            self.world.cancel(target.new.id)
            return Begun(call.id, (target.new.id,), self.world.now + 10_000)
        if call.name == STATUS and target and json.loads(call.arguments).get("wait_for_completion"):
            return Begun(call.id, (target.new.id,), self.world.now + 5000)
        return Begun(call.id)

    def begin_wait(self, call: CapabilityCall) -> Begun:
        any_of = json.loads(call.arguments)["mode"] == "any"
        named = self.named(call)
        still = tuple(record.new.id for record in named if not record.state.is_final)
        if not still or (any_of and len(still) < len(named)):
            return Begun(call.id)
        return Begun(call.id, still, self.world.now + 30_000, any_of)

    def answer(self, call: CapabilityCall) -> Answered:
        if call.name == WAIT:
            attached = {it.id for it in self.session.attached}
            ended = (record.new.id for record in self.named(call) if record.state.is_final)
            return Answered(call.id, "{}", waited=tuple(cid for cid in ended if cid not in attached))
        target = self.target(call)
        if target is None or not target.state.is_final:
            return Answered(call.id, "{}")
        if call.name == CANCEL and target.state is CallState.CANCELLED:
            return Answered(call.id, "{}", stopped=(target.new.id,))
        own_turn = any(attached.id == target.new.id for attached in self.session.attached)
        return Answered(call.id, "{}", read=() if own_turn else (target.new.id,))

    def named(self, call: CapabilityCall) -> list[Record]:
        names = json.loads(call.arguments)["tool_call_ids"]
        return [record for record in self.world.records.values() if record.new.provider_id in names]

    def target(self, call: CapabilityCall) -> Record | None:
        named = json.loads(call.arguments).get("tool_call_id")
        found = [record for record in self.world.records.values() if record.new.provider_id == named]
        return found[-1] if found else None


# ---- the account -----------------------------------------------------------------------------------------------


def check_acceptable(messages: bytes) -> None:
    """The rules of the API, written again without the code under test."""
    due: list[str] = []
    for message in json.loads(messages):
        if due:
            assert (message["role"], message["tool_call_id"]) == ("tool", due.pop(0))
            continue
        assert message["role"] in ("system", "user", "assistant")
        due = [call["id"] for call in message.get("tool_calls", ())]
        assert len(set(due)) == len(due)
    assert not due


def check_account(world: World) -> None:
    """Everything has ended and was told: every call has one tool message, every piece of news stands there once."""
    session = load_session(world.snapshot)
    assert session == Session("s1", turn=session.turn, attached_at=session.attached_at, heard=world.accepted)
    messages = [message for entry in world.log if isinstance(entry, ToolsEntry) for message in entry.messages]
    made = sum(len(entry.calls) for entry in world.log if isinstance(entry, AssistantEntry))
    assert made == len(messages)
    told = Counter(message.call for message in messages if message.call)
    assert set(told.values()) <= {1}
    assert set(world.records) <= set(told)
    late = {message.call for message in messages if message.placeholder}
    check_notices(world, [world.records[call_id] for call_id in late])
    for record in world.records.values():
        expect_result(world, record, in_notice=record.new.id in late)
    texts = "\n".join([*(message.text for message in messages), *user_texts(world)])
    assert {token: texts.count(token) for token in world.tokens} == world.tokens


def expect_result(world: World, record: Record, *, in_notice: bool) -> None:
    """Its result stands in its tool message or in a notice, unless the model had read it before the notice."""
    assert record.outcome
    if in_notice and record.new.id in world.known:
        for token in re.findall(r"<\d+>", record.outcome.result + record.outcome.error):
            world.tokens[token] = 0


def check_notices(world: World, late: list[Record]) -> None:
    known = {
        "": None,
        "read": " result already read with get-tool-call-status",
        "waited": " result already given by wait-for-tool-calls",
        "stopped": " already reported by cancel-tool-call",
    }
    wanted = Counter(
        (record.new.provider_id, record.new.tool, notice_word(record.state), known[world.known.get(record.new.id, "")])
        for record in late
    )
    seen = Counter(
        (found[1], found[2], found[3], found[4]) for text in user_texts(world) for found in HEAD.finditer(text)
    )
    assert seen == wanted


def user_texts(world: World) -> list[str]:
    return [entry.text for entry in world.log if isinstance(entry, UserEntry)]
