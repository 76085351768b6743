"""The checker: what must hold of a run, whatever was done to it. Pure: evidence in, findings out."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator

from tests.faults.kit.evidence import CallEvidence, Evidence, SessionEvidence, texts_of
from tests.faults.kit.outside import of_deferred, of_reading

from errands_config.wire import CallState

_NOTICE = re.compile(r"^tool_call_id (\S+) \(\w+\) ", re.MULTILINE)
_SAID_OF = {
    CallState.ORPHANED: "tool call orphaned",
    CallState.FAILED: "tool call failed",
    CallState.TIMED_OUT: "timed out",
}
"""What the model is told of an end, beside `completed`."""


def findings(evidence: Evidence, *, least_completed: float = 0.5) -> list[str]:
    """What does not hold; empty: all of it does. `least_completed`: the share of calls that must end well."""
    found = [finding for session in evidence.sessions for finding in _of_session(session)]
    found += [finding for call in evidence.calls for finding in of_call(call)]
    found += [f"a request was refused: {why}" for why in evidence.refusals]
    found += [f"a process is left: {stray}" for stray in evidence.strays]
    found += [f"a key is leaked: {leak}" for leak in evidence.leaks]
    found += [f"a log tells of a defect: {defect}" for defect in evidence.defects]
    completed = sum(call.state == CallState.COMPLETED for call in evidence.calls)
    if completed < least_completed * len(evidence.calls):
        found.append(f"only {completed} of {len(evidence.calls)} calls completed")
    return found


def _of_session(session: SessionEvidence) -> Iterator[str]:
    name = f"session {session.number} ({session.id})"
    if session.status != "idle":
        yield f"{name} has not ended: it is {session.status} {session.cause}".rstrip()
    if len(session.calls) != session.planned:
        yield f"{name} has {len(session.calls)} calls instead of {session.planned}"
    for key, count in Counter(call.key for call in session.calls).items():
        if count > 1:
            yield f"{name} made the call {key} {count} times"
    told = _told(session)
    for call in session.calls:
        yield from (f"{name}, call {call.id} ({call.tool}): {wrong}" for wrong in _told_once(session, call, told))


def _told(session: SessionEvidence) -> Counter[str]:
    """How often each call stands in a notice."""
    return Counter(name for text in texts_of(session.messages, "user") for name in _NOTICE.findall(text))


def _told_once(session: SessionEvidence, call: CallEvidence, told: Counter[str]) -> Iterator[str]:
    """That its result reached the model once: in its tool message, or in one notice behind a placeholder."""
    answers = [str(it["content"]) for it in session.messages if it.get("tool_call_id") == call.provider_id]
    if len(answers) != 1:
        yield f"{len(answers)} tool messages"
        return
    wanted = 1 if _is_placeholder(answers[0]) else 0
    if told[call.provider_id] != wanted:
        yield f"{told[call.provider_id]} notices where {wanted} should be; it is {call.state}"
    seen = [*texts_of(session.messages, "tool", "user")]
    yield from of_reading(call, seen)
    said = sum(text.count(f"effect {call.key}") for text in seen)
    if said != (call.state == CallState.COMPLETED):
        yield f"its result stands {said} times in what the model saw; it is {call.state}"
    if _SAID_OF.get(CallState(call.state), "") not in (_notice_of(session, call) if wanted else answers[0]):
        yield f"the model was not told that it is {call.state}"


def _is_placeholder(text: str) -> bool:
    try:
        said = json.loads(text)
    except ValueError:
        return False
    return isinstance(said, dict) and str(said.get("message", "")).startswith("This tool call has not finished yet.")


def _notice_of(session: SessionEvidence, call: CallEvidence) -> str:
    head = f"tool_call_id {call.provider_id} ("
    for text in texts_of(session.messages, "user"):
        if head in text:
            return text[text.index(head) :].partition("\n\n")[0]
    return ""


def of_call(call: CallEvidence) -> Iterator[str]:
    """What must hold of one call, whoever made it: one end, and no more starts than its policy allows."""
    name = f"call {call.id} ({call.tool}) of session {call.session}"
    if not CallState(call.state).is_final:
        yield f"{name} has not ended: it is {call.state}"
    if len(call.end_events) != 1 or call.end_events[0] != call.state:
        yield f"{name} is {call.state} and has the end events {call.end_events}"
    yield from (f"{name} {wrong}" for wrong in (*_of_starts(call), *of_deferred(call)))
    is_answered = any(answer.is_taken and answer.verb == "complete" for answer in call.answers)
    if call.state == CallState.COMPLETED and not is_answered and call.attempt not in call.ends:
        yield f"{name} is completed by attempt {call.attempt}, whose tool never came to its end"


def _of_starts(call: CallEvidence) -> Iterator[str]:
    if len(call.starts) > (call.times + 1) * call.tries:
        yield f"was started {len(call.starts)} times, allowed are {(call.times + 1) * call.tries}"
    for attempt, count in Counter(call.starts).items():
        if count > call.tries:
            yield f"was started {count} times in attempt {attempt}, allowed are {call.tries}"
