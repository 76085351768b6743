"""Registering the calls of an answer, and which of them are published."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from errands_config.text import clean
from errands_config.wire import CallState
from errands_orchestrator.brief import Brief
from errands_orchestrator.dependencies import is_ready
from errands_orchestrator.judging import judged
from errands_orchestrator.made_call import MadeCall, read_calls
from errands_orchestrator.models.model import Reply
from errands_orchestrator.naming import UNNAMED, Names
from errands_orchestrator.notices import buried
from errands_orchestrator.session import AssistantEntry, CapabilityCall, NewCall, Session, TrackedCall
from errands_orchestrator.texts import end_text

RECORDS_A_STEP = 100
"""One commit writes no more, so that none blocks the store."""
SETTLED_A_STEP = 10
"""Of so many calls at a time results are put into arguments: each may be a megabyte."""


def registered(
    brief: Brief,
    session: Session,
    reply: Reply,
    ids: Sequence[str],
    now: int,
    names: Names = UNNAMED,
    used: Collection[str] = (),
) -> tuple[Session, AssistantEntry]:
    """Take an answer in: its entry of the log, and its calls as tracked, with what is to be recorded of them.

    `ids` are fresh ids of ours, one for each call; `used` are those of the provider that are taken. A refused call ends
    here; its record is born final.
    """
    made = read_calls(brief, reply, ids, used)
    later = {call.id for call in made if call.shown.is_async}
    new = judged(brief, session, [call for call in made if not call.is_question_about_calls], names, now)
    max_bytes = brief.agent.delivery.max_result_bytes
    reused = {call.provider_id for call in new.calls}
    earlier = buried(session.calls) if made else session.calls
    earlier = (replace(call, has_namesake=True) if call.provider_id in reused else call for call in earlier)
    calls = (
        replace(call, stopping="replaced by an equal call") if call.id in new.replaced else call
        for call in (*earlier, *(replace(call, is_async=call.id in later) for call in new.calls))
    )
    taken = replace(
        session,
        turn=session.turn + 1,
        attached_at=now,
        calls=tuple(calls),
        asked=tuple(_asked(call, max_bytes) for call in made if call.is_question_about_calls),
        unrecorded=new.records,
    )
    return taken, AssistantEntry(clean(reply.text).text, tuple(call.shown for call in made))


def _asked(made: MadeCall, max_bytes: int) -> CapabilityCall:
    answer = end_text(made.end, max_bytes) if made.end else None
    return CapabilityCall(made.id, made.shown.id, made.shown.name, made.position, made.shown.arguments, answer=answer)


def recorded(session: Session) -> tuple[Session, tuple[NewCall, ...]]:
    """The records that the next commit writes, and the session without them."""
    return replace(session, unrecorded=session.unrecorded[RECORDS_A_STEP:]), session.unrecorded[:RECORDS_A_STEP]


def published(session: Session, max_concurrency: int) -> tuple[Session, tuple[str, ...], tuple[TrackedCall, ...]]:
    """The waiting calls whose turn it is, and the session with them published; beside them those whose turn it is but
    whose arguments are not settled yet.

    Of a turn's runSync calls one is open at a time, in call order, but for those that wait for another call; runAsync
    calls take the free slots, oldest first. A deferred call holds nothing of either.
    """
    unrecorded = {record.id for record in session.unrecorded}
    open_calls = [call for call in session.calls if not (call.is_final or call.id in unrecorded)]
    held = sum(call.attach != "forever" and call.state is CallState.QUEUED for call in session.calls)
    background = [call for call in open_calls if call.attach != "forever" and _may_be_published(call)]
    turns = [*_first_of_each_turn(open_calls), *background[: max(0, max_concurrency - held)]]
    chosen = {call.id for call in turns if not call.depends}
    calls = tuple(replace(call, state=CallState.QUEUED) if call.id in chosen else call for call in session.calls)
    unsettled = tuple(call for call in turns if call.depends)[:SETTLED_A_STEP]
    return replace(session, calls=calls), tuple(call.id for call in calls if call.id in chosen), unsettled


def _first_of_each_turn(open_calls: Sequence[TrackedCall]) -> list[TrackedCall]:
    first: dict[int, TrackedCall] = {}
    one_by_one = [call for call in open_calls if call.attach == "forever" and not call.is_deferred and is_ready(call)]
    for call in sorted(one_by_one, key=lambda call: call.state is CallState.WAITING):
        first.setdefault(call.turn, call)
    return [call for call in first.values() if _may_be_published(call)]


def _may_be_published(call: TrackedCall) -> bool:
    return call.state is CallState.WAITING and not call.stopping and not call.same_as and is_ready(call)
