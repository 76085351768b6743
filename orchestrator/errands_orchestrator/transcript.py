"""The session's log as the list that a request carries, in the dialect of its endpoint, checked as it is made.

A list that breaks the rules of the API never leaves here: the checker runs on every entry, also in production.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Self

import orjson

from errands_config.errors import ConfigError, TranscriptBroken
from errands_orchestrator.brief import Brief
from errands_orchestrator.described_tools import DescribedTool, described_tools
from errands_orchestrator.models.model import Dialect
from errands_orchestrator.session import AssistantEntry, Entry, ShownCall, ToolsEntry
from errands_orchestrator.texts import FRAMING_SENTENCE
from errands_orchestrator.transcript_chat import chat_message, chat_tool
from errands_orchestrator.transcript_responses import response_items, response_tool

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ID_BYTES = 150
"""What an id takes that is kept beside the text."""

_PARTS: Mapping[Dialect, Callable[[Entry], tuple[bytes, ...]]] = {"chat": chat_message, "responses": response_items}
_TOOLS: Mapping[Dialect, Callable[[DescribedTool], dict[str, object]]] = {"chat": chat_tool, "responses": response_tool}


class Transcript:
    """The messages of one session, append-only. Holds their JSON text and ids of calls, nothing else."""

    def __init__(self, system_prompt: str, dialect: Dialect = "chat") -> None:
        """Begins with the system message: the agent's prompt, and the sentence about text that comes from outside."""
        prompt = f"{system_prompt}\n\n{FRAMING_SENTENCE}" if system_prompt else FRAMING_SENTENCE
        self.dialect: Dialect = dialect
        self._array = bytearray(b"[" + orjson.dumps({"role": "system", "content": prompt}))
        self._due: tuple[str, ...] = ()
        """Calls whose message must come next."""
        self._later: frozenset[str] = frozenset()
        """Calls whose result may come in any later request."""
        self._used: set[str] = set()
        """Ids of all calls, in a dialect where a second call of one id would be taken for the first."""
        self.count = 1
        """Messages so far; items in the Responses dialect."""

    @property
    def size(self) -> int:
        """Bytes held."""
        return len(self._array) + _ID_BYTES * len(self._used)

    @classmethod
    def of(cls, system_prompt: str, entries: Iterable[Entry], dialect: Dialect = "chat") -> Self:
        """The transcript of a whole log. Raises TranscriptBroken."""
        transcript = cls(system_prompt, dialect)
        for entry in entries:
            transcript.append(entry)
        return transcript

    def used(self, ids: Sequence[str]) -> frozenset[str]:
        """Those of these ids of new calls, and of the ids that would be made of them, which earlier calls have, in a
        dialect where no two may have the same."""
        own, begins = frozenset(ids), {each or "call" for each in ids}
        return frozenset(name for name in self._used if name in own or name.rpartition("~")[0] in begins)

    def append(self, entry: Entry) -> None:
        """Add one entry, in time that does not depend on what is there.

        Raises TranscriptBroken if the API would refuse the list; then nothing was added.
        """
        due, later = self._checked(entry)
        try:
            messages = _PARTS[self.dialect](entry)
        except orjson.JSONEncodeError as error:
            raise self._broken(f"text that is no Unicode ({error})") from None
        for message in messages:
            self._array += b","
            self._array += message
        self._due, self._later = due, later
        if self.dialect == "responses" and isinstance(entry, AssistantEntry):
            self._used.update(call.id for call in entry.calls)
        self.count += len(messages)

    def messages(self) -> bytes:
        """The JSON array of all messages. Raises TranscriptBroken while a call has no tool message."""
        if self._due:
            raise self._broken(f"no tool message for {', '.join(self._due)}")
        return b"".join((self._array, b"]"))

    def _checked(self, entry: Entry) -> tuple[tuple[str, ...], frozenset[str]]:
        """The calls whose message is due behind this entry, and those whose result may come later."""
        if isinstance(entry, ToolsEntry):
            return (), self._answered(entry)
        if self._due:
            raise self._broken(f"a message of the {entry.kind} where tool messages for {self._due} are due")
        if not isinstance(entry, AssistantEntry):
            return (), self._later
        self._check_calls(entry.calls)
        later = frozenset(call.id for call in entry.calls if call.is_async)
        return tuple(call.id for call in entry.calls if not call.is_async), self._later | later

    def _answered(self, entry: ToolsEntry) -> frozenset[str]:
        answered = tuple(message.id for message in entry.messages)
        prompt = tuple(call for call in answered if call not in self._later)
        in_order = prompt == self._due if self.dialect == "chat" else sorted(prompt) == sorted(self._due)
        if not answered or not in_order or len(set(answered)) < len(answered):
            raise self._broken(f"tool messages for {answered}, where {self._due} were called")
        return self._later.difference(answered)

    def _check_calls(self, calls: tuple[ShownCall, ...]) -> None:
        ids = tuple(call.id for call in calls)
        if "" in ids or len(set(ids)) < len(ids):
            raise self._broken(f"ids that are empty or equal: {ids}")
        if taken := [call for call in ids if call in self._used or call in self._later]:
            raise self._broken(f"ids of earlier calls: {', '.join(taken)}")
        for call in calls:
            if not _NAME.fullmatch(call.name):
                raise self._broken(f"the name {call.name!r}, which is none for a tool")
            if not _is_object(call.arguments):
                raise self._broken(f"arguments of {call.id} that are no JSON object")

    def _broken(self, what: str) -> TranscriptBroken:
        return TranscriptBroken(f"behind message {self.count}: {what}; the session's log must not be sent like this")


def _is_object(text: str) -> bool:
    try:
        return isinstance(orjson.loads(text), dict)
    except orjson.JSONDecodeError:
        return False


def tools_body(brief: Brief) -> bytes:
    """The tools of every request of a session, as a JSON array; empty without tools. The same bytes every time.

    Raises ConfigError for a tool whose schema is no JSON object: no endpoint would take the request.
    """
    tools = described_tools(brief)
    for tool in tools:
        if not _is_object(tool.parameters):
            wrong = "the schema that its worker offers is no JSON object; correct the tool"
            raise ConfigError(f"tool {tool.name}: {wrong}")
    return orjson.dumps([_TOOLS[brief.dialect](tool) for tool in tools]) if tools else b""
