"""What the chat API demands of a message list: the form of each message, and the pairing of calls and tool messages."""

from __future__ import annotations

import json
import re

from errands_orchestrator.testing.strict.refusal import RefusedError, Value

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
LONGEST_ID = 40

_PART_TYPES = {
    "system": {"text"},
    "developer": {"text"},
    "tool": {"text"},
    "assistant": {"text", "refusal"},
    "user": {"text", "image_url", "input_audio", "file"},
}


def check_messages(messages: Value) -> None:
    """Raise RefusedError unless the list is one that the API takes."""
    pairing = _Pairing()
    for message in messages.elements():
        role = _role(message)
        pairing.before(role, message)
        if role == "assistant":
            pairing.open(_check_assistant(message), message)
        elif role == "tool":
            pairing.answer(_check_tool(message))
        else:
            fields = message.fields(required=("role", "content"), optional=("name",))
            _check_content(fields["content"], role)
    pairing.end(messages)


class _Pairing:
    """Each call is answered once, by a tool message in the block right behind the message that makes it."""

    def __init__(self) -> None:
        self._open: list[str] = []
        self._answered: set[str] = set()

    def before(self, role: str, message: Value) -> None:
        if role != "tool":
            self.end(message)

    def open(self, ids: list[str], message: Value) -> None:
        if len(set(ids)) < len(ids):
            raise message.refused(f"duplicate tool call ids {ids}", code="duplicate_tool_call_id")
        self._open, self._answered = list(ids), set()

    def answer(self, call_id: Value) -> None:
        name = call_id.text()
        if name in self._answered:
            raise call_id.refused(f"tool call {name} was answered before", code="duplicate_tool_message")
        if name not in self._open:
            raise call_id.refused("messages with role 'tool' must answer a preceding message with 'tool_calls'")
        self._open.remove(name)
        self._answered.add(name)

    def end(self, where: Value) -> None:
        if self._open:
            raise RefusedError(
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each"
                f" 'tool_call_id'. Without a response before {where.path}: {', '.join(self._open)}",
                param=where.path,
            )
        self._answered = set()


def _role(message: Value) -> str:
    fields = message.raw if isinstance(message.raw, dict) else {}
    role = Value(fields.get("role"), f"{message.path}.role").text()
    if role not in _PART_TYPES:
        raise Value(role, f"{message.path}.role").refused(f"unknown role {role!r}")
    return role


def _check_assistant(message: Value) -> list[str]:
    """Check an assistant message; returns the ids of its calls."""
    fields = message.fields(required=("role",), optional=("content", "tool_calls", "name", "refusal", "audio"))
    content = fields.get("content", Value(None, f"{message.path}.content"))
    calls = [_check_call(call) for call in fields["tool_calls"].elements()] if "tool_calls" in fields else []
    if content.raw is not None:
        _check_content(content, "assistant")
    elif not calls and "refusal" not in fields:
        raise content.refused("expected a string or an array, got null", code="invalid_type")
    return calls


def _check_call(call: Value) -> str:
    fields = call.fields(required=("id", "type", "function"))
    if fields["type"].text() != "function":
        raise fields["type"].refused("expected 'function'")
    function = fields["function"].fields(required=("name", "arguments"))
    check_name(function["name"])
    check_arguments(function["arguments"])
    return fields["id"].text(at_most=LONGEST_ID)


def check_arguments(arguments: Value) -> None:
    """Raise RefusedError unless these are arguments that a call may have."""
    try:
        value = json.loads(arguments.text())
    except ValueError:
        raise arguments.refused("not JSON", code="invalid_json") from None
    if not isinstance(value, dict):
        raise arguments.refused("not a JSON object", code="invalid_json")


def _check_tool(message: Value) -> Value:
    """Check a tool message; returns the id that it answers."""
    fields = message.fields(required=("role", "content", "tool_call_id"))
    _check_content(fields["content"], "tool")
    return fields["tool_call_id"]


def _check_content(content: Value, role: str) -> None:
    if isinstance(content.raw, str):
        content.text(empty=True)
        return
    for part in content.elements():
        kind = Value(part.raw.get("type") if isinstance(part.raw, dict) else None, f"{part.path}.type")
        if kind.text() not in _PART_TYPES[role]:
            raise kind.refused(f"no content part of role {role!r}: {kind.raw!r}")
        fields = part.fields(required=("type", kind.text()), optional=())
        if kind.text() in ("text", "refusal"):
            fields[kind.text()].text()


def check_name(name: Value) -> None:
    """Raise RefusedError unless this is a name that a function may have."""
    if not NAME.match(name.text()):
        raise name.refused(f"string does not match pattern {NAME.pattern!r}")
