"""The chat dialect: log entries as messages, tools as functions. Pure."""

from __future__ import annotations

import orjson

from errands_orchestrator.described_tools import DescribedTool
from errands_orchestrator.session import (
    AssistantEntry,
    CompactionEntry,
    Entry,
    ShownCall,
    ToolMessage,
    ToolsEntry,
    UserEntry,
)


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
        case CompactionEntry():
            return ()


def _tool_call(call: ShownCall) -> dict[str, object]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _tool_message(message: ToolMessage) -> bytes:
    return orjson.dumps({"role": "tool", "tool_call_id": message.id, "content": message.text})


def chat_tool(tool: DescribedTool) -> dict[str, object]:
    """A tool as a request lists it."""
    parameters = orjson.Fragment(tool.parameters)
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": parameters},
    }
