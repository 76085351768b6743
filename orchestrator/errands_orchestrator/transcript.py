"""The session's log as the messages of the chat dialect, checked as they are made.

A list that breaks the rules of the API never leaves here: the checker runs on every entry, also in production.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Self

import orjson

from errands_config.errors import ConfigError, TranscriptBroken
from errands_config.policy import Policy
from errands_orchestrator.brief import Toolset
from errands_orchestrator.capabilities.offers import capability_offers
from errands_orchestrator.session import AssistantEntry, Entry, ShownCall, ToolMessage, ToolsEntry, UserEntry
from errands_orchestrator.texts import BACKGROUND_SENTENCE, FRAMING_SENTENCE

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def chat_message(entry: Entry) -> tuple[bytes, ...]:
    """The messages of one entry, each as JSON. An answer with neither text nor calls has none."""
    match entry:
        case UserEntry(text=text):
            return (orjson.dumps({"role": "user", "content": text}),)
        case AssistantEntry(text="", calls=()):
            return ()
        case AssistantEntry(text=text, calls=()):
            return (orjson.dumps({"role": "assistant", "content": text}),)
        case AssistantEntry(text=text, calls=calls):
            tool_calls = [_tool_call(call) for call in calls]
            return (orjson.dumps({"role": "assistant", "content": text or None, "tool_calls": tool_calls}),)
        case ToolsEntry(messages=messages):
            return tuple(_tool_message(message) for message in messages)


def _tool_call(call: ShownCall) -> dict[str, object]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _tool_message(message: ToolMessage) -> bytes:
    return orjson.dumps({"role": "tool", "tool_call_id": message.id, "content": message.text})


class Transcript:
    """The messages of one session, append-only. Holds their JSON text and the ids of open calls, nothing else."""

    def __init__(self, system_prompt: str) -> None:
        """Begins with the system message: the agent's prompt, and the sentence about text that comes from outside."""
        prompt = f"{system_prompt}\n\n{FRAMING_SENTENCE}" if system_prompt else FRAMING_SENTENCE
        self._array = bytearray(b"[" + orjson.dumps({"role": "system", "content": prompt}))
        self._open: tuple[str, ...] = ()
        self.count = 1
        """Messages so far."""

    @property
    def size(self) -> int:
        """Bytes of text held."""
        return len(self._array)

    @classmethod
    def of(cls, system_prompt: str, entries: Iterable[Entry]) -> Self:
        """The transcript of a whole log. Raises TranscriptBroken."""
        transcript = cls(system_prompt)
        for entry in entries:
            transcript.append(entry)
        return transcript

    def append(self, entry: Entry) -> None:
        """Add one entry, in time that does not depend on what is there.

        Raises TranscriptBroken if the API would refuse the list; then nothing was added.
        """
        after = self._checked(entry)
        try:
            messages = chat_message(entry)
        except orjson.JSONEncodeError as error:
            raise self._broken(f"text that is no Unicode ({error})") from None
        for message in messages:
            self._array += b","
            self._array += message
        self._open = after
        self.count += len(messages)

    def messages(self) -> bytes:
        """The JSON array of all messages. Raises TranscriptBroken while a call has no tool message."""
        if self._open:
            raise self._broken(f"no tool message for {', '.join(self._open)}")
        return b"".join((self._array, b"]"))

    def _checked(self, entry: Entry) -> tuple[str, ...]:
        """The calls that are open behind this entry."""
        if isinstance(entry, ToolsEntry):
            answered = tuple(message.id for message in entry.messages)
            if not answered or answered != self._open:
                raise self._broken(f"tool messages for {answered}, where {self._open} were called")
            return ()
        if self._open:
            raise self._broken(f"a message of the {entry.kind} where tool messages for {self._open} are due")
        return self._called(entry.calls) if isinstance(entry, AssistantEntry) else ()

    def _called(self, calls: tuple[ShownCall, ...]) -> tuple[str, ...]:
        ids = tuple(call.id for call in calls)
        if "" in ids or len(set(ids)) < len(ids):
            raise self._broken(f"ids that are empty or equal: {ids}")
        for call in calls:
            if not _NAME.fullmatch(call.name):
                raise self._broken(f"the name {call.name!r}, which is none for a tool")
            if not _is_object(call.arguments):
                raise self._broken(f"arguments of {call.id} that are no JSON object")
        return ids

    def _broken(self, what: str) -> TranscriptBroken:
        return TranscriptBroken(f"behind message {self.count}: {what}; the session's log must not be sent like this")


def _is_object(text: str) -> bool:
    try:
        return isinstance(orjson.loads(text), dict)
    except orjson.JSONDecodeError:
        return False


def tools_body(toolset: Toolset, policy: Policy, capabilities: Iterable[str]) -> bytes:
    """The tools of every request of a session, as a JSON array; empty without tools. The same bytes every time.

    Raises ConfigError for a tool whose schema is no JSON object: no endpoint would take the request.
    """
    tools = [_tool(offer.name, offer.description, offer.parameters) for offer in capability_offers(capabilities)]
    for offer in toolset.offers:
        in_background = policy.resolve(offer.name, {}).disposition == "runAsync"
        description = f"{offer.description} {BACKGROUND_SENTENCE}".strip() if in_background else offer.description
        tools.append(_tool(offer.name, description, offer.parameters))
    return orjson.dumps(tools) if tools else b""


def _tool(name: str, description: str, parameters: str) -> dict[str, object]:
    if not _is_object(parameters):
        raise ConfigError(f"tool {name}: the schema that its worker offers is no JSON object; correct the tool")
    function = {"name": name, "description": description, "parameters": orjson.Fragment(parameters)}
    return {"type": "function", "function": function}
