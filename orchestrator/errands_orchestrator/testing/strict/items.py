"""What the Responses API demands of a list of items: the form of each, and the pairing of calls and outputs."""

from __future__ import annotations

from collections.abc import Collection

from errands_orchestrator.testing.strict.messages import check_arguments, check_name
from errands_orchestrator.testing.strict.refusal import RefusedError, Value

LONGEST_CALL_ID = 64
_PART_TYPES = {
    "system": {"input_text"},
    "developer": {"input_text"},
    "user": {"input_text", "input_image", "input_file"},
    "assistant": {"output_text", "refusal"},
}


def check_items(items: Value, async_tools: Collection[str]) -> None:
    """Raise RefusedError unless the list is one that the API takes. Calls of `async_tools` may stay open."""
    pairing = _Pairing()
    for item in items.elements():
        kind = _kind(item)
        if kind == "function_call_output":
            pairing.answer(_check_output(item))
        elif kind == "function_call":
            name, call_id, is_async = _check_call(item)
            if is_async and name not in async_tools:
                raise Value(True, f"{item.path}.async").refused(f"the tool {name} was not offered as asynchronous")
            pairing.open(call_id, is_async=is_async)
        else:
            pairing.speak(_check_message(item), item)
    pairing.end(items)


class _Pairing:
    """A call has one output, behind it: before anything else is said, unless it is asynchronous."""

    def __init__(self) -> None:
        self._due: dict[str, None] = {}
        self._later: set[str] = set()
        self._known: set[str] = set()
        self._answering = False
        """The newest item is no part of an answer of the model."""

    def open(self, call_id: Value, *, is_async: bool) -> None:
        if self._answering:
            self.end(call_id)
        name = call_id.text(at_most=LONGEST_CALL_ID)
        if name in self._known:
            raise call_id.refused(f"duplicate call id {name}", code="duplicate_call_id")
        self._known.add(name)
        self._answering = False
        if is_async:
            self._later.add(name)
        else:
            self._due[name] = None

    def answer(self, call_id: Value) -> None:
        name = call_id.text(at_most=LONGEST_CALL_ID)
        if name not in self._known:
            raise call_id.refused(f"no tool call found for function call output with call_id {name}")
        if name not in self._due and name not in self._later:
            raise call_id.refused(f"function call {name} was answered before", code="duplicate_output")
        self._due.pop(name, None)
        self._later.discard(name)
        self._answering = True

    def speak(self, role: str, item: Value) -> None:
        if role != "assistant" or self._answering:
            self.end(item)
        self._answering = role != "assistant"

    def end(self, where: Value) -> None:
        if self._due:
            raise RefusedError(
                f"No tool output found for function call {', '.join(self._due)}, before {where.path}.", param=where.path
            )


def _kind(item: Value) -> str:
    fields = item.raw if isinstance(item.raw, dict) else {}
    kind = Value(fields.get("type", "message"), f"{item.path}.type").text()
    if kind not in ("message", "function_call", "function_call_output"):
        raise Value(kind, f"{item.path}.type").refused(f"unknown type {kind!r}")
    return kind


def _check_message(item: Value) -> str:
    fields = item.fields(required=("role", "content"), optional=("type", "id", "status", "phase"))
    role = fields["role"].text()
    if role not in _PART_TYPES:
        raise fields["role"].refused(f"unknown role {role!r}")
    content = fields["content"]
    if isinstance(content.raw, str):
        content.text(empty=True)
        return role
    for part in content.elements():
        kind = Value(part.raw.get("type") if isinstance(part.raw, dict) else None, f"{part.path}.type")
        if kind.text() not in _PART_TYPES[role]:
            raise kind.refused(f"no content part of role {role!r}: {kind.raw!r}")
    return role


def _check_call(item: Value) -> tuple[str, Value, bool]:
    """Check a call; answers the tool's name, its id and whether it is asynchronous."""
    # an `async_`, which is how the openai package names it in Python, is no parameter
    optional = ("id", "status", "async", "namespace", "caller")
    fields = item.fields(required=("type", "call_id", "name", "arguments"), optional=optional)
    check_name(fields["name"])
    check_arguments(fields["arguments"])
    is_async = fields.get("async", Value(None, f"{item.path}.async"))
    if is_async.raw not in (None, True, False):
        raise is_async.refused("expected a boolean", code="invalid_type")
    return fields["name"].text(), fields["call_id"], is_async.raw is True


def _check_output(item: Value) -> Value:
    """Check an output; answers the id of its call."""
    fields = item.fields(required=("type", "call_id", "output"), optional=("id", "status", "caller"))
    fields["output"].text(empty=True)
    return fields["call_id"]
