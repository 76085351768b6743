"""Control mail: what people tell a session to do, beside talking to it."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from errands_config.wire import Mail
from errands_orchestrator.attach import interrupted
from errands_orchestrator.brief import Brief
from errands_orchestrator.decisions import Cancel, Park, Step
from errands_orchestrator.draft import Draft
from errands_orchestrator.late import follow
from errands_orchestrator.session import Phase, Session, TrackedCall

PAUSED_BY_USER = "paused by user"
STEPPED = "stepped"
"""Why a session stands still behind the answers that it was resumed for."""


def obey(draft: Draft, mail: Mail) -> None:
    """Do what a control letter says."""
    match mail.text:
        case "stopRun":
            _stop_run(draft)
        case "pause":
            _pause(draft)
        case "resume":
            draft.put(pause_after=draft.session.turn + mail.turns if mail.turns else 0)
            resume(draft)
        case "cancelAllAttached":
            _cancel_attached(draft)
        case "cancelCalls":
            draft.stop("cancelled by user", tuple(call for call in draft.session.calls if call.id in mail.calls))
        case _:
            # the verb of a newer version: what this one does not know it leaves alone
            pass


def _stop_run(draft: Draft) -> None:
    """End the run at once: what can still be shown is shown, what is open is let go."""
    if draft.session.phase is Phase.IDLE:
        return
    if draft.session.phase is Phase.ATTACHED:
        draft.session = interrupted(draft.session, draft.max_bytes)
        follow(draft)  # what is handed back is not tracked any more, and whoever waits for it must know its end
        draft.hand_back()
    if draft.brief.agent.on_run_failure == "cancel":
        draft.stop("run cancelled", not_deferred(draft.session))
    draft.end_run("cancelled")


def not_deferred(session: Session) -> tuple[TrackedCall, ...]:
    """The calls that end with a run which did not end well; somebody outside may be at work on the others."""
    return tuple(call for call in session.calls if not call.is_deferred)


def _pause(draft: Draft) -> None:
    if draft.session.is_paused:
        return
    draft.pause(PAUSED_BY_USER)
    if draft.brief.agent.pause_cancels_calls:
        draft.stop("session paused", draft.session.attached)


def resume(draft: Draft) -> None:
    """Go on, if it is paused."""
    session = draft.session
    if not session.is_paused:
        draft.put(blocked=False)  # so that whoever goes on with it is told if it still is
        return
    draft.put(cause="", failures=0, retry_at=0, blocked=False)
    draft.tell("run.resumed")
    if session.phase is Phase.ASKING:
        draft.tell("turn.restarted", turn=str(session.turn + 1))
    if session.phase is Phase.IDLE:
        begin_run(draft)


def begin_run(draft: Draft) -> None:
    """Begin a run if a person has said something."""
    if any(item.kind == "user" for item in draft.session.inbox):
        draft.put(phase=Phase.READY)
        draft.tell("run.started")


def _cancel_attached(draft: Draft) -> None:
    draft.stop("cancelled by user", draft.session.attached)
    asked = (replace(it, woken_by=it.woken_by or "user") for it in draft.session.asked)
    draft.put(asked=tuple(asked))


def cancels(draft: Draft) -> tuple[Cancel, ...]:
    """The ends to ask for: of all that are to stop when that is new or the owner is, else of those just recorded."""
    unrecorded = {record.id for record in draft.session.unrecorded}
    recorded = {record.id for record in draft.records}
    wanted: dict[str, list[str]] = {}
    for call in draft.session.calls:
        if call.stopping and not call.is_final and call.id not in unrecorded and (draft.cancel or call.id in recorded):
            wanted.setdefault(call.stopping, []).append(call.id)
    return tuple(Cancel(tuple(calls), why, _by(why)) for why, calls in wanted.items())


def _by(why: str) -> Literal["user", "system"]:
    return "system" if why in ("run ended", "run failed", "replaced by an equal call") else "user"


def set_aside(brief: Brief, session: Session, cause: str) -> Step:
    """What becomes of a session whose step failed: it is paused with the cause, its calls end as its agent says."""
    draft = Draft(brief, session, 0)
    draft.pause(cause)
    if brief.agent.on_run_failure == "cancel":
        draft.stop("run failed", not_deferred(session))
    return Step(draft.session, (*cancels(draft), Park("paused")), events=tuple(draft.events))
