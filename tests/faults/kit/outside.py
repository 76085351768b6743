"""What must hold of calls that were deferred: they end once, as the clerk was told, and the model reads just that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tests.faults.kit.agents import ASKED, GATED
from tests.faults.kit.answers import Verb
from tests.faults.kit.evidence import CallEvidence

from errands_config.wire import CallState

_ENDS: dict[Verb, CallState] = {
    "complete": CallState.COMPLETED,
    "fail": CallState.FAILED,
    "deny": CallState.DENIED,
    "cancel": CallState.CANCELLED,
}


def of_deferred(call: CallEvidence) -> Iterator[str]:
    """What does not hold of a call and the answers to it."""
    taken = Counter((answer.verb, answer.text) for answer in call.answers if answer.is_taken)
    refused = {(answer.verb, answer.text) for answer in call.answers if not answer.is_taken}
    given = [verb for verb, _ in taken if verb != "cancel"]
    if call.deferrals > 1:
        yield f"was deferred {call.deferrals} times"
    if call.deferrals and not call.answers:
        yield "was deferred, and nobody was asked"
    if len(given) > 1:
        yield f"took answers that differ: {', '.join(given)}"
    if both := [verb for verb, text in taken if (verb, text) in refused]:
        yield f"took an answer and refused it as well: {', '.join(both)}"
    if call.deferrals and not given and call.state != CallState.CANCELLED:
        yield f"took no answer and is {call.state}"
    for verb, _ in taken:
        if verb in _ENDS and call.state != _ENDS[verb]:
            yield f"is {call.state}, though a receipt says {verb}"
    if call.state == CallState.CANCELLED and not any(answer.verb == "cancel" for answer in call.answers):
        yield "was cancelled, though nobody asked for it"
    if call.starts and call.tool in (*ASKED, *GATED) and "approve" not in given:
        yield "was started, though nobody gave leave"


def of_reading(call: CallEvidence, texts: Sequence[str]) -> Iterator[str]:
    """What does not hold of what the model read (`texts`): of every answer's own text, once if it was taken."""
    taken = {answer.text for answer in call.answers if answer.is_taken}
    for said in sorted({answer.text for answer in call.answers if answer.text}):
        count = sum(text.count(said) for text in texts)
        if count != (said in taken):
            yield f"an answer that was {'taken' if said in taken else 'refused'} stands {count} times: {said}"
