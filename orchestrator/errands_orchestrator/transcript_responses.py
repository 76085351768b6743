"""The Responses dialect: log entries as items, tools as functions that may be answered later. Pure.

A call whose result may come later says so, and its output may follow in any later request, on the call's own id.
"""

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


def response_items(entry: Entry) -> tuple[bytes, ...]:
    """The items of one entry, each as JSON. An answer with neither text nor calls has none."""
    match entry:
        case UserEntry(text=text):
            return (orjson.dumps({"role": "user", "content": text}),)
        case AssistantEntry(text=text, calls=calls):
            said = (orjson.dumps({"role": "assistant", "content": text}),) if text else ()
            return (*said, *map(_call, calls))
        case ToolsEntry(messages=messages):
            return tuple(map(_output, messages))
        case CompactionEntry():
            return ()


def _call(call: ShownCall) -> bytes:
    later = {"async": True} if call.is_async else {}
    item = {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}
    return orjson.dumps(item | later)


def _output(message: ToolMessage) -> bytes:
    return orjson.dumps({"type": "function_call_output", "call_id": message.id, "output": message.text})


def response_tool(tool: DescribedTool) -> dict[str, object]:
    """A tool as a request lists it."""
    listed: dict[str, object] = {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": orjson.Fragment(tool.parameters),
        # the API's own default would demand schemas in which every argument is required
        "strict": False,
    }
    return listed | ({"async": True} if tool.is_async else {})
