"""What the model is told of the capabilities. How they are answered stands in their own files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

GET_STATUS = "get-tool-call-status"
LIST_RUNNING = "list-running-tool-calls"
CANCEL = "cancel-tool-call"
WAIT = "wait-for-tool-calls"
GET_RESULT = "get-tool-call-result"
ASK_USER = "ask-user"
"""Recorded as a deferred call, and answered from outside."""


@dataclass(frozen=True, slots=True)
class CapabilityOffer:
    """One capability as the model sees it."""

    name: str
    description: str
    parameters: str
    """JSON schema of the arguments, as compact JSON text: byte-stable."""


_RESULTS_OF_EARLIER = "Results of calls of earlier messages are in the answer, the others stand on the calls."
_RESULTS_ON_CALLS = "Each result stands on its own call, before this answer."

_OFFERS = {
    offer.name: offer
    for offer in (
        CapabilityOffer(
            GET_STATUS,
            "Tells the state of one of your tool calls, its newest progress and, once it is final, its result. "
            "Results arrive by themselves: ask only when you need to know something before that. "
            "With wait_for_completion the answer comes when the call has ended, at the latest after timeout_seconds.",
            '{"type":"object","properties":{'
            '"tool_call_id":{"type":"string","description":"The id of the call, as it stands in your tool call."},'
            '"include_progress":{"type":"boolean","default":true},'
            '"wait_for_completion":{"type":"boolean","default":false},'
            '"timeout_seconds":{"type":"number","minimum":0,"maximum":300,"default":5}},'
            '"required":["tool_call_id"],"additionalProperties":false}',
        ),
        CapabilityOffer(
            LIST_RUNNING,
            "Lists every tool call of yours that has not ended, with its state and newest progress.",
            '{"type":"object","properties":{},"additionalProperties":false}',
        ),
        CapabilityOffer(
            CANCEL,
            "Asks for the end of a tool call that has not ended. The answer tells the state that it reached; "
            "a call that ended by itself first keeps its result.",
            '{"type":"object","properties":{'
            '"tool_call_id":{"type":"string","description":"The id of the call, as it stands in your tool call."},'
            '"reason":{"type":"string"}},'
            '"required":["tool_call_id"],"additionalProperties":false}',
        ),
        CapabilityOffer(
            WAIT,
            "Waits until tool calls of yours have ended: all of them, or any one with mode any; at the latest until "
            "timeout_seconds have passed. It ends early when your user speaks. Calls that you make in the same message "
            f"are started first. {_RESULTS_OF_EARLIER}",
            '{"type":"object","properties":{'
            '"tool_call_ids":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":100,'
            '"description":"The ids of the calls, as they stand in your tool calls."},'
            '"mode":{"type":"string","enum":["all","any"],"default":"all"},'
            '"timeout_seconds":{"type":"number","minimum":0,"maximum":300,"default":30}},'
            '"required":["tool_call_ids"],"additionalProperties":false}',
        ),
        CapabilityOffer(
            GET_RESULT,
            "Reads a long result of one of your tool calls page by page; of a call that runs, what it has printed so "
            "far; of one that failed or was stopped, what it had printed before. It begins at the beginning, or where "
            "next_cursor of an earlier answer, given as cursor, says; next_cursor is null once all is read. With grep "
            "it answers the lines that match, with their numbers, in place of a page.",
            '{"type":"object","properties":{'
            '"tool_call_id":{"type":"string","description":"The id of the call, as it stands in your tool call."},'
            '"cursor":{"type":"string","minLength":1,"maxLength":40},'
            '"grep":{"type":"string","minLength":1,"maxLength":1000,'
            '"description":"A regular expression (RE2 syntax) for single lines."}},'
            '"required":["tool_call_id"],"additionalProperties":false}',
        ),
        CapabilityOffer(
            ASK_USER,
            "Asks your user a question and goes on: the answer is delivered later by itself. With choices it is one of "
            "them. Nobody may answer; then you are told so after timeout_seconds.",
            '{"type":"object","properties":{'
            '"question":{"type":"string","minLength":1,"maxLength":4000},'
            '"choices":{"type":"array","items":{"type":"string","minLength":1,"maxLength":400},"minItems":1,"maxItems":20},'
            '"timeout_seconds":{"type":"number","exclusiveMinimum":0,"maximum":604800}},'
            '"required":["question"],"additionalProperties":false}',
        ),
    )
}


_NAMED = {
    WAIT: CapabilityOffer(
        WAIT,
        "Waits until tool calls of yours have ended: all of them, or any one with mode any; at the latest until "
        "timeout_seconds have passed. It ends early when your user speaks. Calls that you make in the same message are "
        "started first. Without names it waits for every call that has not ended.",
        '{"type":"object","properties":{'
        '"task_handles":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":100,'
        '"description":"The names that you gave to the calls."},'
        '"tool_call_ids":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":100,'
        '"description":"The ids of the calls, as they stand in your tool calls."},'
        '"mode":{"type":"string","enum":["all","any"],"default":"all"},'
        '"timeout_seconds":{"type":"number","minimum":0,"maximum":300,"default":30}},'
        '"additionalProperties":false}',
    ),
}
"""Those that are told otherwise where calls have handles."""
_ID = "The id of the call, as it stands in your tool call."
_ID_OR_HANDLE = "The task_handle of the call, or its id."


def capability_offers(
    names: Iterable[str], *, handles: bool = False, late_outputs: bool = False
) -> tuple[CapabilityOffer, ...]:
    """The offers of these capabilities, in this order.

    `handles`: calls have names that the model gave them; `late_outputs`: late results stand on their own calls.
    """
    offers = tuple(_named(name) if handles else _OFFERS[name] for name in names)
    return tuple(map(_with_results_on_calls, offers)) if late_outputs else offers


def _with_results_on_calls(offer: CapabilityOffer) -> CapabilityOffer:
    return replace(offer, description=offer.description.replace(_RESULTS_OF_EARLIER, _RESULTS_ON_CALLS))


def _named(name: str) -> CapabilityOffer:
    offer = _NAMED.get(name, _OFFERS[name])
    return replace(offer, parameters=offer.parameters.replace(_ID, _ID_OR_HANDLE))
