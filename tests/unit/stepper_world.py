"""A small world around `step`: a store that commits, workers that claim and end calls, an owner that crashes.

The world keeps an account of its own of what must come of every call, mail and message, and compares.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from itertools import count
from typing import Any, Literal, TypeAlias

from pydantic import JsonValue
from tests.unit.stepper_dialects import check_acceptable
from tests.unit.stepper_driver import CANCEL, START, STATUS, WAIT

from errands_config.wire import CallState, Mail, MailKind, Outcome
from errands_orchestrator.arrivals import Acquired, Answered, Arrival, Begun, Looked, Received, Resolved, Surveyed
from errands_orchestrator.brief import Brief
from errands_orchestrator.compaction import as_seen
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
    Resolve,
    Step,
    Survey,
    Wait,
)
from errands_orchestrator.digest import Outstanding
from errands_orchestrator.naming import NamedCall, Names
from errands_orchestrator.references import Reference, Referred, references_in, values_at
from errands_orchestrator.session import (
    CapabilityCall,
    Ended,
    Entry,
    NewCall,
    Session,
    TrackedCall,
)
from errands_orchestrator.snapshot import dump_session, load_session
from errands_orchestrator.stepper import step
from errands_orchestrator.transcript import Transcript
from errands_orchestrator.turn import RECORDS_A_STEP

Crash: TypeAlias = Literal["none", "before", "after"]
"""Whether the owner dies just before or just after a commit."""

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
    sent: bytes = b""
    """The newest request, but for its last bracket."""

    def __post_init__(self) -> None:
        self.transcript = Transcript("p", self.brief.dialect)

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

    def send_to_model(self) -> None:
        """A request: one that the API takes, and that begins with the bytes of the one before."""
        messages = self.transcript.messages()
        check_acceptable(self.brief, messages)
        assert messages.startswith(self.sent)
        self.sent = messages[:-1]
        if self.brief.agent.delivery.compact_after_turns:
            check_acceptable(self.brief, Transcript.of("p", as_seen(self.log), self.brief.dialect).messages())

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
        self.check_dependencies(before, step)
        self.write(step.records)
        self.write_ends(step.ends)
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
            if new.again and self.records[new.id].state is not CallState.WAITING:
                continue
            assert new.again == (new.id in self.records)
            born = CallState.DEFERRED if new.deferral else CallState.WAITING
            state = new.outcome.state if new.outcome else born
            self.records[new.id] = Record(new, state, new.outcome)

    def write_ends(self, ends: Sequence[Ended]) -> None:
        for it in ends:
            record = self.records[it.id]
            if record.state is CallState.WAITING:
                record.state, record.outcome = it.outcome.state, it.outcome

    def check_dependencies(self, before: Session, done: Step) -> None:
        """What waited for others goes on when all of these have completed, and not before."""
        settled = {new.id for new in done.records if new.again}
        for call in before.calls:
            if call.id in settled:
                assert all(self.records[it.call].state is CallState.COMPLETED for it in call.depends)
        queued = {cid for decision in done.decisions if isinstance(decision, Queue) for cid in decision.calls}
        assert not any(call.depends or call.same_as for call in done.session.calls if call.id in queued)
        # whoever waits for others can be reached by their ends: no circle
        tuple(TopologicalSorter({call.id: _awaited(call) for call in done.session.calls}).static_order())

    def names(self) -> Names:
        """What every name of this conversation is bound to."""
        by_id = {record.new.id: self.named(record) for record in self.records.values()}
        handles = {record.new.handle: self.named(record) for record in self.records.values() if record.new.handle}
        keys = {record.new.key: self.named(record) for record in self.records.values() if record.new.key}
        by_provider = {record.new.provider_id: self.named(record) for record in self.records.values()}
        calls = by_provider | handles | by_id
        meant = {name: by_id[self.records[it.id].new.same_as or it.id] for name, it in calls.items()}
        return Names(handles, keys, meant)

    def named(self, record: Record) -> NamedCall:
        new = record.new
        return NamedCall(new.id, new.provider_id, new.tool, record.state, new.likeness)

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
                waits = {call.id for call in load_session(self.snapshot).calls if call.depends}
                assert not any(it.holds_place for it in earlier if it.new.id not in waits)
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
        asks = [decision for decision in decisions if isinstance(decision, Begin | Answer | Look | Resolve | Survey)]
        goes_on = AskModel() in decisions and not done.log
        if self.asking and goes_on and not asks:
            return None
        self.asking = self.asking and goes_on
        if asks:
            return tuple(map(self.bring, asks))
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
                self.world.send_to_model()
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
            case Resolve(call=call):
                return self.resolve(call)
            case Survey(calls=calls):
                return self.survey(calls)
            case _:
                assert isinstance(decision, Look)
                return Looked(tuple((call_id, self.world.records[call_id].state) for call_id in decision.calls))

    def survey(self, calls: Sequence[str]) -> Surveyed:
        progress = str(next(self.world.numbers))
        return Surveyed(tuple(Outstanding(it, self.world.records[it].state, progress=progress) for it in calls))

    def resolve(self, call: TrackedCall) -> Resolved:
        assert call.depends
        assert all(it.done for it in call.depends)
        arguments = self.world.records[call.id].new.arguments
        found: dict[Reference, JsonValue] = {}
        for it in call.depends:
            outcome = self.world.records[it.call].outcome
            own = [reference for reference in references_in(json.loads(arguments)) if reference.name == it.name]
            found |= values_at(Referred(outcome.result if outcome else "", is_json=False), own).found
        return Resolved(call.id, arguments, found)

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
        still = tuple(record.new.id for record in named if not self.has_ended(record))
        if not still or (any_of and len(still) < len(named)):
            return Begun(call.id)
        return Begun(call.id, still, self.world.now + 30_000, any_of)

    def answer(self, call: CapabilityCall) -> Answered:
        if call.name == WAIT:
            ended = (record.new.id for record in self.named(call) if self.has_ended(record))
            return Answered(call.id, "{}", waited=tuple(cid for cid in ended if cid not in self.session.answered_here))
        target = self.target(call)
        if target is None or not target.state.is_final:
            return Answered(call.id, "{}")
        if call.name == CANCEL and target.state is CallState.CANCELLED:
            return Answered(call.id, "{}", stopped=(target.new.id,))
        has_own = target.new.id in self.session.answered_here
        return Answered(call.id, "{}", read=() if has_own else (target.new.id,))

    def has_ended(self, record: Record) -> bool:
        """As far as the session knows."""
        tracked = next((call for call in self.session.calls if call.id == record.new.id), None)
        return tracked.is_final if tracked else record.state.is_final

    def named(self, call: CapabilityCall) -> list[Record]:
        names = json.loads(call.arguments)["tool_call_ids"]
        return [record for record in self.world.records.values() if record.new.provider_id in names]

    def target(self, call: CapabilityCall) -> Record | None:
        named = json.loads(call.arguments).get("tool_call_id")
        found = [record for record in self.world.records.values() if record.new.provider_id == named]
        return found[-1] if found else None


def _awaited(call: TrackedCall) -> set[str]:
    awaited = {it.call for it in call.depends if not it.done}
    return awaited | ({call.same_as} if call.same_as else set())
