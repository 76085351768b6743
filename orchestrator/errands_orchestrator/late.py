"""What could not be settled when a call was made: calls that waited for others, and calls that stand for others."""

from __future__ import annotations

import json
from dataclasses import replace

from pydantic import JsonValue

from errands_config.wire import CallState, Outcome
from errands_orchestrator.arguments import breach
from errands_orchestrator.arrivals import Resolved
from errands_orchestrator.brief import Brief
from errands_orchestrator.dependencies import watched
from errands_orchestrator.draft import Draft
from errands_orchestrator.judging import mark_of, may_be_duplicate
from errands_orchestrator.likeness import NO_DUPLICATE, Duplicate, duplicate, likeness, may_be_equal_to
from errands_orchestrator.made_call import MadeCall, compact
from errands_orchestrator.recording import deferred, record_of
from errands_orchestrator.references import MOST_ARGUMENTS, NowhereError, references_in, substituted
from errands_orchestrator.session import Ended, Session, ShownCall, TrackedCall
from errands_orchestrator.texts import end_text, invalid_arguments, not_run, same_as

TOO_LARGE = f"with the results in them they are over {MOST_ARGUMENTS} bytes; refer to less"


def follow(draft: Draft) -> None:
    """End the calls that cannot run any more because another one did not complete, and those that stand for one which
    has ended."""
    while True:
        draft.session, skipped = watched(draft.session)
        ends = skipped | _followers(draft.session)
        if not ends:
            return
        for cid, outcome in ends.items():
            _end(draft, cid, outcome)


def _followers(session: Session) -> dict[str, Outcome]:
    ended = {call.id: call for call in session.calls if call.is_final}
    return {
        call.id: _same(ended[call.same_as]) for call in session.calls if call.same_as in ended and not call.is_final
    }


def _same(call: TrackedCall) -> Outcome:
    said = same_as(call.state, call.provider_id)
    if call.state is CallState.COMPLETED:
        return Outcome(state=call.state, result=said, result_type="json")
    return Outcome(state=call.state, error=said)


def settle(draft: Draft, arrival: Resolved) -> None:
    """Put the results into a call's arguments and decide about it as about a new one: policy, schema, equal calls."""
    call = next((call for call in draft.session.calls if call.id == arrival.call), None)
    if call is None or call.is_final or call.stopping or not call.depends:
        return
    try:
        made = _made(draft.brief, call, arrival)
    except RecursionError:
        _end(draft, call.id, invalid_arguments("with the results in them they are nested too deeply"))
        return
    except NowhereError as nowhere:
        _end(draft, call.id, not_run(str(nowhere), CallState.SKIPPED))
        return
    verdict = NO_DUPLICATE if made.end else _compared(draft, made, call)
    if end := made.end or verdict.refusal:
        _end(draft, call.id, end)
    elif verdict.same_as:
        draft.session = draft.session.with_call(replace(call, depends=(), same_as=verdict.same_as.id))
    else:
        _let_run(draft, call, made)
        draft.stop("replaced by an equal call", tuple(it for it in draft.session.calls if it.id in verdict.replaces))


def _made(brief: Brief, call: TrackedCall, arrival: Resolved) -> MadeCall:
    """The call as it would be had it been made now. Raises NowhereError and RecursionError."""
    written: JsonValue = json.loads(arrival.arguments)
    value, text = written, arrival.arguments
    if brief.agent.registry.references and references_in(written):
        value = written if arrival.is_too_large else substituted(written, arrival.found)
        text = compact(value)
    offer = brief.tools.by_name[call.name]
    end = invalid_arguments(TOO_LARGE) if arrival.is_too_large else _refusal(text, value, offer.parameters)
    shown = ShownCall(call.provider_id, call.name, text)
    return MadeCall(call.id, shown, call.position, offer, text, value, end=end)


def _refusal(text: str, value: JsonValue, schema: str) -> Outcome | None:
    if len(text.encode()) > MOST_ARGUMENTS:
        return invalid_arguments(TOO_LARGE)
    fault = breach(value, schema) if isinstance(value, dict) else "a JSON object is expected"
    return invalid_arguments(fault) if fault else None


def _compared(draft: Draft, made: MadeCall, call: TrackedCall) -> Duplicate:
    if not may_be_duplicate(draft.brief, made):
        return NO_DUPLICATE
    in_flight = [it for it in draft.session.calls if may_be_equal_to(it) and it.id != call.id and not it.depends]
    mark = likeness(made.value)
    return duplicate(draft.brief.agent.registry, call.name, mark, in_flight, confirmed=call.confirmed)


def _let_run(draft: Draft, call: TrackedCall, made: MadeCall) -> None:
    record = replace(record_of(draft.brief, made, call.turn), again=True)
    settled = replace(call, depends=(), likeness=mark_of(draft.brief, made))
    draft.records.append(record)
    draft.session = draft.session.with_call(deferred(record, settled) if record.deferral else settled)


def _end(draft: Draft, cid: str, outcome: Outcome) -> None:
    """End a call that was never published: in the store, or before it gets there."""
    session = draft.session
    call = next(call for call in session.calls if call.id == cid)
    text = outcome.error if call.same_as and outcome.error else end_text(outcome, draft.max_bytes)
    draft.session = session.with_call(replace(call, state=outcome.state, text=text, ended=session.next_place))
    if any(record.id == cid for record in session.unrecorded):
        ended = {"outcome": outcome, "deferral": None, "same_as": call.same_as}
        unrecorded = (replace(it, **ended) if it.id == cid else it for it in session.unrecorded)
        draft.put(unrecorded=tuple(unrecorded))
    else:
        draft.ends.append(Ended(cid, outcome, call.same_as))
