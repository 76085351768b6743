"""One step of a session: take in what arrived, then decide what must happen now.

Pure: no I/O, no clock, no chance. `now` is the store's time in ms; ids of calls come with the model's answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from errands_config.wire import Mail
from errands_orchestrator.arrivals import Acquired, Answered, Arrival, AskFailed, Begun, Looked, Received, Replied
from errands_orchestrator.attach import handed_back, has_news, interrupted, is_over, missing, settled, timer
from errands_orchestrator.brief import Brief
from errands_orchestrator.decisions import (
    Again,
    AskModel,
    Begin,
    Cancel,
    Decision,
    Event,
    EventKind,
    Park,
    Queue,
    Step,
    Wait,
)
from errands_orchestrator.notices import pending, with_user_message
from errands_orchestrator.session import Entry, NewCall, Phase, Reads, Session, TrackedCall
from errands_orchestrator.texts import end_text
from errands_orchestrator.turn import published, recorded, registered

MAX_RETRIES = 3
"""How often a failed request is sent again before the run is paused."""
FIRST_PAUSE_SECONDS = 0.5
"""Before the first repeat; each further one waits twice as long, or as long as the endpoint asks."""
LONGEST_PAUSE_SECONDS = 60.0
READS_KEPT = 32
"""Calls whose status reads are counted; a model that asks about more of them at once is not held back."""


def step(brief: Brief, session: Session, arrivals: Sequence[Arrival], now: int) -> Step:
    """Take in all arrivals, in order, and decide.

    The decisions are: any number of Begin, Answer and Look, which are done together and stepped with once; or AskModel;
    or Again; or one of Wait and Park. Queue and Cancel may stand beside any of them.
    """
    draft = _Draft(brief, session, now)
    for arrival in arrivals:
        _absorb(draft, arrival)
    standing = _advance(draft)
    decisions = (*_queue(draft), *_cancels(draft), *standing)
    mail_came = any(isinstance(arrival, Received) for arrival in arrivals)
    changed = mail_came or draft.session != session or bool(draft.log or draft.records or draft.events)
    return Step(draft.session, decisions, tuple(draft.log), tuple(draft.records), tuple(draft.events), changed)


@dataclass(slots=True)
class _Draft:
    """A step in the making."""

    brief: Brief
    session: Session
    now: int
    log: list[Entry] = field(default_factory=list[Entry])
    records: list[NewCall] = field(default_factory=list[NewCall])
    events: list[Event] = field(default_factory=list[Event])
    cancel: bool = False
    """Ask (again) for the end of the calls that a stopped run left open."""

    def put(self, **changes: Any) -> None:
        self.session = replace(self.session, **changes)

    def tell(self, kind: EventKind, **facts: str) -> None:
        self.events.append(Event(kind, tuple(facts.items())))

    @property
    def max_bytes(self) -> int:
        return self.brief.agent.delivery.max_result_bytes


# ---- what arrived ----------------------------------------------------------------------------------------------


def _absorb(draft: _Draft, arrival: Arrival) -> None:
    asking = draft.session.phase is Phase.ASKING
    match arrival:
        case Acquired():
            _acquired(draft)
        case Received(mail=mail):
            _received(draft, mail)
        case Replied() if asking:
            _replied(draft, arrival)
        case AskFailed() if asking:
            _ask_failed(draft, arrival)
        case Begun():
            _begun(draft, arrival)
        case Answered():
            _answered(draft, arrival)
        case Looked(states=states) if draft.session.handing_back:
            draft.put(looked=(*draft.session.looked, *states))
        case _:
            # an answer to a request, or states for a hand-back, that a stop has made void
            pass


def _acquired(draft: _Draft) -> None:
    draft.cancel = True
    # one that lies further ahead was set before the store's clock went back
    draft.put(retry_at=min(draft.session.retry_at, draft.now + round(LONGEST_PAUSE_SECONDS * 1000)))
    if draft.session.phase is Phase.ASKING and draft.session.retry_at <= draft.now:
        draft.tell("turn.restarted", turn=str(draft.session.turn + 1))


def _received(draft: _Draft, mail: Mail) -> None:
    match mail.kind:
        case "control" if mail.text == "stopRun":
            _stop(draft)
        case "control" if mail.text == "resume":
            _resume(draft)
        case "control":
            pass
        case "toolCallFinished":
            _finished(draft, mail)
        case "toolCallNotify" if not draft.brief.is_asynchronous:
            pass
        case _:
            _to_inbox(draft, mail)


def _to_inbox(draft: _Draft, mail: Mail) -> None:
    sender = next((call for call in draft.session.calls if call.id == mail.call), None)
    draft.put(inbox=(*draft.session.inbox, pending(mail, sender, draft.max_bytes)))
    if mail.kind == "userMessage" and draft.session.phase is Phase.IDLE:
        draft.put(phase=Phase.READY)
        draft.tell("run.started")


def _finished(draft: _Draft, mail: Mail) -> None:
    call = next((call for call in draft.session.calls if call.id == mail.call), None)
    if mail.outcome is None or (call and call.is_final):
        return
    if call is None:
        _to_inbox(draft, mail)
        return
    ended = 1 + max(other.ended for other in draft.session.calls)
    final = replace(call, state=mail.outcome.state, text=end_text(mail.outcome, draft.max_bytes), ended=ended)
    draft.session = draft.session.with_call(final)


def _replied(draft: _Draft, arrival: Replied) -> None:
    draft.session, entry = registered(draft.brief, draft.session, arrival.reply, arrival.ids, draft.now)
    draft.put(phase=Phase.ATTACHED if entry.calls else Phase.RESTING, failures=0, retry_at=0)
    draft.log.append(entry)
    facts = {"turn": str(draft.session.turn), "calls": str(len(entry.calls)), "finish": arrival.reply.finish}
    draft.tell("turn.completed", **facts)


def _ask_failed(draft: _Draft, arrival: AskFailed) -> None:
    failures = draft.session.failures
    if not arrival.retryable or failures >= MAX_RETRIES:
        draft.put(phase=Phase.PAUSED, cause=arrival.cause)
        draft.tell("run.paused", cause=arrival.cause)
        return
    pause = min(max(FIRST_PAUSE_SECONDS * 2**failures, arrival.retry_after or 0.0), LONGEST_PAUSE_SECONDS)
    draft.put(failures=failures + 1, retry_at=draft.now + round(pause * 1000))
    draft.tell("turn.failed", cause=arrival.cause)


def _begun(draft: _Draft, arrival: Begun) -> None:
    asked = (
        replace(it, begun=True, targets=arrival.targets, wait_until=arrival.wait_until) if it.id == arrival.call else it
        for it in draft.session.asked
    )
    draft.put(asked=tuple(asked))


def _answered(draft: _Draft, arrival: Answered) -> None:
    if not any(it.id == arrival.call and it.answer is None for it in draft.session.asked):
        return
    asked = (replace(it, answer=arrival.text) if it.id == arrival.call else it for it in draft.session.asked)
    calls = (_known(call, arrival) for call in draft.session.calls)
    draft.put(asked=tuple(asked), calls=tuple(calls), reads=_reads(draft.session.reads, arrival.seen))


def _known(call: TrackedCall, arrival: Answered) -> TrackedCall:
    if call.known or call.id not in (*arrival.read, *arrival.stopped):
        return call
    return replace(call, known="read" if call.id in arrival.read else "stopped")


def _reads(reads: tuple[Reads, ...], seen: Reads | None) -> tuple[Reads, ...]:
    if seen is None:
        return reads
    return (*(read for read in reads if read.call != seen.call), seen)[-READS_KEPT:]


def _stop(draft: _Draft) -> None:
    """End the run at once: what can still be shown is shown, what is open is let go and its end asked for."""
    if draft.session.phase is Phase.IDLE:
        return
    if draft.session.phase is Phase.ATTACHED:
        draft.session = interrupted(draft.session, draft.max_bytes)
        _hand_back(draft)
    calls = tuple(call if call.is_final else replace(call, stopping=True) for call in draft.session.calls)
    draft.put(calls=calls)
    draft.cancel = True
    _end_run(draft, "cancelled")


def _resume(draft: _Draft) -> None:
    if draft.session.phase is Phase.PAUSED:
        draft.put(phase=Phase.ASKING, failures=0, retry_at=0, cause="")
        draft.tell("turn.restarted", turn=str(draft.session.turn + 1))


# ---- what follows from it --------------------------------------------------------------------------------------


def _advance(draft: _Draft) -> tuple[Decision, ...]:
    if draft.session.phase is Phase.ATTACHED and (decisions := _attached(draft)):
        return decisions
    if draft.session.phase is Phase.RESTING and (decisions := _resting(draft)):
        return decisions
    if draft.session.phase is Phase.READY:
        _request(draft)
    match draft.session:
        case Session(phase=Phase.ASKING, retry_at=moment) if moment > draft.now:
            return (Wait(moment),)
        case Session(phase=Phase.ASKING):
            return (AskModel(),)
        case Session(phase=Phase.PAUSED):
            return (Park("paused"),)
        case _:
            return (Park("idle"),)


def _attached(draft: _Draft) -> tuple[Decision, ...]:
    """What the newest turn needs before it is handed back; nothing once it is."""
    draft.session, records = recorded(draft.session)
    draft.records += records
    draft.session = settled(draft.session, draft.now)
    if draft.session.unrecorded:
        return (Again(),)
    if begins := tuple(Begin(it) for it in draft.session.asked if not it.begun and it.answer is None):
        return begins
    if not is_over(draft.brief, draft.session, draft.now):
        return (Wait(timer(draft.brief, draft.session, draft.now)),)
    if decisions := missing(draft.session):
        draft.put(handing_back=True)
        return decisions
    _hand_back(draft)
    draft.put(phase=Phase.READY)
    return ()


def _hand_back(draft: _Draft) -> None:
    draft.session, entry = handed_back(draft.session, draft.brief.agent.capabilities)
    draft.log.append(entry)


def _resting(draft: _Draft) -> tuple[Decision, ...]:
    """Wait for background calls, go on with their news or with mail, or end the run."""
    session = draft.session
    is_open = any(not call.is_final for call in session.calls)
    holds_news_back = is_open and draft.brief.agent.async_yield_strategy == "yieldWhenAllDone"
    if session.inbox or (has_news(session.calls) and not holds_news_back):
        draft.put(phase=Phase.READY)
    elif is_open:
        return (Wait(None),)
    else:
        _end_run(draft, "completed")
    return ()


def _end_run(draft: _Draft, status: str) -> None:
    draft.put(phase=Phase.IDLE, failures=0, retry_at=0, cause="", reads=())
    draft.tell("run.ended", status=status)


def _request(draft: _Draft) -> None:
    draft.session, entry = with_user_message(draft.session)
    if entry:
        draft.log.append(entry)
    draft.put(phase=Phase.ASKING, failures=0, retry_at=0)
    draft.tell("turn.started", turn=str(draft.session.turn + 1))


def _queue(draft: _Draft) -> tuple[Decision, ...]:
    draft.session, calls = published(draft.session, draft.brief.agent.max_concurrency)
    return (Queue(calls),) if calls else ()


def _cancels(draft: _Draft) -> tuple[Decision, ...]:
    calls = tuple(call.id for call in draft.session.calls if call.stopping and not call.is_final)
    return (Cancel(calls, "run cancelled", "user"),) if draft.cancel and calls else ()
