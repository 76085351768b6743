"""What the model is told of the capabilities. How they are answered stands in their own files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

GET_STATUS = "get-tool-call-status"
LIST_RUNNING = "list-running-tool-calls"
CANCEL = "cancel-tool-call"
WAIT = "wait-for-tool-calls"
ASK_USER = "ask-user"
"""Recorded as a deferred call, and answered from outside."""


@dataclass(frozen=True, slots=True)
class CapabilityOffer:
    """One capability as the model sees it."""

    name: str
    description: str
    parameters: str
    """JSON schema of the arguments, as compact JSON text: byte-stable."""


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
            "are started first. Results of calls of earlier messages are in the answer, the others stand on the calls.",
            '{"type":"object","properties":{'
            '"tool_call_ids":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":100,'
            '"description":"The ids of the calls, as they stand in your tool calls."},'
            '"mode":{"type":"string","enum":["all","any"],"default":"all"},'
            '"timeout_seconds":{"type":"number","minimum":0,"maximum":300,"default":30}},'
            '"required":["tool_call_ids"],"additionalProperties":false}',
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


def capability_offers(names: Iterable[str]) -> tuple[CapabilityOffer, ...]:
    """The offers of these capabilities, in this order."""
    return tuple(_OFFERS[name] for name in names)
