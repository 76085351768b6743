"""Whether a conversation only grows: earlier messages and the tools keep their bytes from request to request."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from errands_orchestrator.testing.strict.refusal import RefusedError

_DECODER = json.JSONDecoder()


def members(text: str) -> dict[str, str]:
    """The raw text of each value of a JSON object."""
    found: dict[str, str] = {}
    position = _skip(text, text.index("{") + 1)
    while text[position] != "}":
        name, position = _DECODER.raw_decode(text, position)
        start = _skip(text, text.index(":", position) + 1)
        _, position = _DECODER.raw_decode(text, start)
        found[name] = text[start:position]
        position = _skip(text, position, ",")
    return found


def elements(text: str) -> tuple[str, ...]:
    """The raw text of each element of a JSON array."""
    found: list[str] = []
    position = _skip(text, text.index("[") + 1)
    while text[position] != "]":
        start = position
        _, position = _DECODER.raw_decode(text, start)
        found.append(text[start:position])
        position = _skip(text, position, ",")
    return tuple(found)


def _skip(text: str, position: int, also: str = "") -> int:
    while text[position] in " \t\r\n" + also:
        position += 1
    return position


@dataclass(slots=True)
class _History:
    tools: str
    messages: tuple[str, ...]


@dataclass(slots=True)
class Prefixes:
    """The histories seen so far, grouped by how they begin: up to the first user message."""

    _seen: dict[tuple[str, ...], list[_History]] = field(default_factory=lambda: defaultdict(list))

    def check(self, body: bytes) -> None:
        """Take in a request's body. Raises RefusedError if it changes what an earlier request of its kind held."""
        parts = members(body.decode())
        new = _History(parts.get("tools", ""), elements(_conversation(parts)))
        beginning = _beginning(new.messages)
        known = self._seen[beginning]
        if any(_extends(old, new) for old in known) and len(new.messages) > len(beginning):
            return  # an earlier request sent again
        grown = [old for old in known if _extends(new, old)]
        if grown:
            known.remove(max(grown, key=lambda old: len(old.messages)))
        elif known and len(new.messages) > len(beginning):
            name = "messages" if "messages" in parts else "input"
            raise RefusedError(_difference(known, new, name), param=name, code="prefix_changed")
        known.append(new)


def beginning_of(body: bytes) -> tuple[str, ...]:
    """What tells a conversation from others: its raw messages up to the first one of the user."""
    return _beginning(elements(_conversation(members(body.decode()))))


def _conversation(parts: Mapping[str, str]) -> str:
    """The raw list of messages, or of items in the Responses API."""
    return parts.get("messages") or parts["input"]


def _beginning(messages: tuple[str, ...]) -> tuple[str, ...]:
    for position, message in enumerate(messages, 1):
        if json.loads(message).get("role") == "user":
            return messages[:position]
    return messages


def _extends(new: _History, old: _History) -> bool:
    return new.tools == old.tools and new.messages[: len(old.messages)] == old.messages


def _difference(known: list[_History], new: _History, name: str) -> str:
    same = max(_common(old.messages, new.messages) for old in known)
    if any(_extends(_History("", new.messages), _History("", old.messages)) for old in known):
        return "The bytes of 'tools' changed within a conversation."
    return f"The bytes of '{name}[{same}]' changed within a conversation."


def _common(old: tuple[str, ...], new: tuple[str, ...]) -> int:
    pairs = zip(old, new, strict=False)
    return next((position for position, (a, b) in enumerate(pairs) if a != b), min(len(old), len(new)))
