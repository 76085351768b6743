"""One step of a session: take in what arrived, then decide what must happen now.

Pure: no I/O, no clock, no chance. `now` is the store's time in ms; ids of calls come with the model's answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from errands_config.wire import CallState, Mail
from errands_orchestrator.arrivals import (
    Acquired,
    Answered,
    Arrival,
    AskFailed,
    Begun,
    Looked,
    Received,
    Replied,
    Resolved,
    Surveyed,
)
from errands_orchestrator.attach import has_news, is_over, missing, settled, timer
from errands_orchestrator.brief import Brief
from errands_orchestrator.compaction import compacted
from errands_orchestrator.control import STEPPED, begin_run, cancels, obey, resume
from errands_orchestrator.decisions import Again, AskModel, Begin, Decision, Park, Queue, Resolve, Step, Survey, Wait
from errands_orchestrator.delivery import delivered
from errands_orchestrator.dependencies import held_from_outside
from errands_orchestrator.digest import to_survey, with_digest
from errands_orchestrator.draft import Draft
from errands_orchestrator.late import follow, settle
from errands_orchestrator.notices import pending
from errands_orchestrator.session import Phase, Reads, Session, ToolsEntry, TrackedCall
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

    The decisions are: any number of Begin, Answer and Look, or a Survey, which are done together and stepped with once;
    or AskModel; or Again; or one of Wait and Park. Queue, Resolve and Cancel may stand beside any of them.
    """
    draft = Draft(brief, session, now)
    for arrival in arrivals:
        _absorb(draft, arrival)
    follow(draft)
    standing = _told_if_blocked(draft, _advance(draft))
    decisions = (*_queue(draft), *cancels(draft), *standing)
    mail_came = any(isinstance(arrival, Received) for arrival in arrivals)
    written = (tuple(draft.log), tuple(draft.records), tuple(draft.ends), tuple(draft.events))
    return Step(draft.session, decisions, *written, changed=mail_came or draft.session != session or any(written))


# ---- what arrived ----------------------------------------------------------------------------------------------


def _absorb(draft: Draft, arrival: Arrival) -> None:
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
        case Resolved():
            settle(draft, arrival)
        case Surveyed(calls=calls):
            draft.survey = calls
            draft.amend |= asking  # it was a request to be made anew that this was looked up for
        case Looked(states=states) if draft.session.handing_back:
            draft.put(looked=(*draft.session.looked, *states))
        case _:
            # an answer to a request, or states for a hand-back, that a stop has made void
            pass


def _acquired(draft: Draft) -> None:
    draft.cancel = True
    # one that lies further ahead was set before the store's clock went back
    draft.put(retry_at=min(draft.session.retry_at, draft.now + round(LONGEST_PAUSE_SECONDS * 1000)))
    # the one before may have got no further than to looking up what the new request tells
    urgent = draft.brief.agent.interrupt_completions and any(item.interrupt for item in draft.session.inbox)
    draft.amend |= urgent and draft.session.phase is Phase.ASKING
    is_out = draft.session.phase is Phase.ASKING and draft.session.retry_at <= draft.now
    if is_out and not draft.session.is_paused:
        draft.tell("turn.restarted", turn=str(draft.session.turn + 1))


def _received(draft: Draft, mail: Mail) -> None:
    match mail.kind:
        case "control":
            obey(draft, mail)
            return
        case "toolCallDeferred" | "toolCallApproved":
            _moved(draft, mail)
            return
        case "toolCallFinished":
            _finished(draft, mail)
        case "toolCallNotify" if not draft.brief.is_asynchronous:
            draft.put(heard=draft.session.heard + 1)
        case _:
            _to_inbox(draft, mail)
    if draft.brief.agent.resume_on_any_mail:
        resume(draft)


def _to_inbox(draft: Draft, mail: Mail) -> None:
    sender = next((call for call in draft.session.calls if call.id == mail.call), None)
    letter = pending(draft.brief, mail, sender, draft.session.next_place)
    draft.put(inbox=(*draft.session.inbox, letter))
    if mail.kind == "userMessage" and draft.session.phase is Phase.IDLE and not draft.session.is_paused:
        begin_run(draft)
    draft.amend |= mail.priority == "interrupt" and draft.brief.agent.interrupt_completions


def _finished(draft: Draft, mail: Mail) -> None:
    call = next((call for call in draft.session.calls if call.id == mail.call), None)
    if mail.outcome is None or (call and call.is_final):
        return
    if call is None:
        _to_inbox(draft, mail)
        return
    text = end_text(mail.outcome, draft.max_bytes, readable=draft.brief.reads_results)
    final = replace(call, state=mail.outcome.state, text=text, ended=draft.session.next_place, reran=mail.starts > 1)
    draft.session = draft.session.with_call(final)


def _moved(draft: Draft, mail: Mail) -> None:
    """A call waits for somebody outside from now on, or has leave to run."""
    call = next((call for call in draft.session.calls if call.id == mail.call), None)
    if call and not call.is_final:
        state = CallState.DEFERRED if mail.kind == "toolCallDeferred" else CallState.QUEUED
        draft.session = draft.session.with_call(replace(call, state=state))


def _replied(draft: Draft, arrival: Replied) -> None:
    stopping = sum(bool(call.stopping) for call in draft.session.calls)
    draft.session, entry = registered(
        draft.brief, draft.session, arrival.reply, arrival.ids, draft.now, arrival.names, arrival.used
    )
    draft.cancel |= sum(bool(call.stopping) for call in draft.session.calls) > stopping
    draft.put(phase=Phase.ATTACHED if entry.calls else Phase.RESTING, failures=0, retry_at=0)
    draft.log.append(entry)
    facts = {"turn": str(draft.session.turn), "calls": str(len(entry.calls)), "finish": arrival.reply.finish}
    draft.tell("turn.completed", **facts)


def _ask_failed(draft: Draft, arrival: AskFailed) -> None:
    failures = draft.session.failures
    if not arrival.retryable or failures >= MAX_RETRIES:
        draft.pause(arrival.cause)
        return
    pause = min(max(FIRST_PAUSE_SECONDS * 2**failures, arrival.retry_after or 0.0), LONGEST_PAUSE_SECONDS)
    draft.put(failures=failures + 1, retry_at=draft.now + round(pause * 1000))
    draft.tell("turn.failed", cause=arrival.cause)


def _begun(draft: Draft, arrival: Begun) -> None:
    asked = (
        replace(it, begun=True, targets=arrival.targets, wait_until=arrival.wait_until, any_of=arrival.any_of)
        if it.id == arrival.call
        else it
        for it in draft.session.asked
    )
    draft.put(asked=tuple(asked))


def _answered(draft: Draft, arrival: Answered) -> None:
    if not any(it.id == arrival.call and it.answer is None for it in draft.session.asked):
        return
    asked = (replace(it, answer=arrival.text) if it.id == arrival.call else it for it in draft.session.asked)
    calls = (_known(call, arrival) for call in draft.session.calls)
    draft.put(asked=tuple(asked), calls=tuple(calls), reads=_reads(draft.session.reads, arrival.seen))


def _known(call: TrackedCall, arrival: Answered) -> TrackedCall:
    if call.known:
        return call
    if call.id in arrival.read:
        return replace(call, known="read")
    if call.id in arrival.waited:
        return replace(call, known="waited")
    if call.id in arrival.paged:
        return replace(call, known="paged")
    return replace(call, known="stopped") if call.id in arrival.stopped else call


def _reads(reads: tuple[Reads, ...], seen: Reads | None) -> tuple[Reads, ...]:
    if seen is None:
        return reads
    return (*(read for read in reads if read.call != seen.call), seen)[-READS_KEPT:]


# ---- what follows from it --------------------------------------------------------------------------------------


def _advance(draft: Draft) -> tuple[Decision, ...]:
    if draft.session.is_paused:
        return (Park("paused"),)
    if draft.session.phase is Phase.ATTACHED and (decisions := _attached(draft)):
        return decisions
    if draft.session.phase is Phase.RESTING and (decisions := _resting(draft)):
        return decisions
    is_due = draft.session.phase is Phase.READY or (draft.amend and draft.session.phase is Phase.ASKING)
    if is_due and (decisions := _request(draft)):
        return decisions
    match draft.session:
        case Session(cause=cause) if cause:
            return (Park("paused"),)
        case Session(phase=Phase.ASKING, retry_at=moment) if moment > draft.now:
            return (Wait(moment),)
        case Session(phase=Phase.ASKING):
            return (AskModel(),)
        case _:
            return (Park("idle"),)


def _attached(draft: Draft) -> tuple[Decision, ...]:
    """What the newest turn needs before it is handed back; nothing once it is."""
    draft.session, records = recorded(draft.session)
    draft.records += records
    draft.session = settled(draft.brief, draft.session, draft.now)
    if draft.session.unrecorded:
        return (Again(),)
    if begins := tuple(Begin(it) for it in draft.session.asked if not it.begun and it.answer is None):
        return begins
    if not is_over(draft.brief, draft.session, draft.now):
        return (_wait(draft.session, timer(draft.brief, draft.session, draft.now)),)
    if decisions := missing(draft.session):
        draft.put(handing_back=True)
        return decisions
    draft.hand_back()
    draft.put(phase=Phase.READY)
    return ()


def _resting(draft: Draft) -> tuple[Decision, ...]:
    """Wait for background calls, go on with their news or with mail, or end the run."""
    session = draft.session
    on_end = draft.brief.agent.on_run_end
    is_open = any(not call.is_final for call in session.calls)
    outside = held_from_outside(session.calls)
    runs = any(not (call.is_final or call.id in outside) for call in session.calls)
    holds_news_back = runs and draft.brief.agent.async_yield_strategy == "yieldWhenAllDone"
    if session.inbox or session.has_rest or (on_end == "wait" and has_news(session.calls) and not holds_news_back):
        draft.put(phase=Phase.READY)
    elif is_open and on_end == "wait":
        return (_wait(session, None),)
    else:
        if on_end == "cancel":
            draft.stop("run ended", session.calls)
        draft.end_run("completed")
    return ()


def _wait(session: Session, until: int | None) -> Wait:
    open_calls = [call for call in session.calls if not call.is_final]
    outside = held_from_outside(open_calls)
    return Wait(until, outside=until is None and bool(outside) and len(outside) == len(open_calls))


def _told_if_blocked(draft: Draft, standing: tuple[Decision, ...]) -> tuple[Decision, ...]:
    """Tell those who watch, once, that nothing but somebody outside can make the run go on."""
    blocked = standing == (Wait(None, outside=True),)
    if blocked and not draft.session.blocked:
        draft.tell("run.blocked", calls=str(sum(call.is_deferred for call in draft.session.calls)))
    if blocked != draft.session.blocked and not draft.session.is_paused:
        draft.put(blocked=blocked)
    return standing


def _request(draft: Draft) -> tuple[Decision, ...]:
    """Ask for the next answer, or for the newest one again because there is more to say; what has to be looked up for
    that, if something has."""
    session = draft.session
    if session.pause_after and session.turn >= session.pause_after:
        draft.pause(STEPPED)
        return ()
    told, outputs, entry = delivered(draft.brief, session, draft.room)
    if entry and draft.survey is None and (calls := to_survey(draft.brief, told)):
        return (Survey(calls),)
    if entry and draft.survey:
        told, entry = with_digest(draft.brief, told, entry, draft.survey)
    draft.session, compaction = compacted(draft.brief, told)
    if compaction:
        draft.log.append(compaction)
    if outputs:
        draft.log.append(ToolsEntry(outputs))
    if entry:
        draft.log.append(entry)
    draft.put(phase=Phase.ASKING, failures=0, retry_at=0)
    kind = "turn.restarted" if session.phase is Phase.ASKING else "turn.started"
    draft.tell(kind, turn=str(session.turn + 1))
    return ()


def _queue(draft: Draft) -> tuple[Decision, ...]:
    draft.session, calls, unsettled = published(draft.session, draft.brief.agent.max_concurrency)
    return (*((Queue(calls),) if calls else ()), *map(Resolve, unsettled))
