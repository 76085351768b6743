"""A `Say` as the Responses API words it: one JSON document, or the events of a stream."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from errands_orchestrator.testing.strict.answers import Call, Say
from errands_orchestrator.testing.strict.completion import Json, cut, with_ids

_CUT = {"length": "max_output_tokens", "content_filter": "content_filter"}


def whole_response(say: Say, model: str, number: int, async_tools: Collection[str]) -> Json:
    """The answer as one document. `number` makes ids fresh; calls of `async_tools` say that they are asynchronous."""
    said = with_ids(say, number)
    text = [_message(said.text, number)] if said.text else []
    output = [*text, *(_call(call, f"fc_{number}_{place}", async_tools) for place, call in enumerate(said.calls))]
    return _envelope(said, model, number) | {"output": output}


def response_events(say: Say, model: str, number: int, async_tools: Collection[str]) -> Iterator[Json]:
    """The answer as the events of a stream; without a finish reason the one that ends it is missing."""
    for place, event in enumerate(_events(say, whole_response(say, model, number, async_tools))):
        yield event | {"sequence_number": place}


def _events(say: Say, whole: Json) -> Iterator[Json]:
    begun = whole | {"status": "in_progress", "output": [], "incomplete_details": None}
    yield {"type": "response.created", "response": {name: begun[name] for name in begun if name != "usage"}}
    items: list[Json] = whole["output"]  # pyright: ignore[reportAssignmentType]
    for place, item in enumerate(items):
        yield {"type": "response.output_item.added", "output_index": place, "item": item | _nothing_yet(item)}
        where: Json = {"item_id": item["id"], "output_index": place}
        for piece in cut(say.text or "", say.style.piece) if item["type"] == "message" else ():
            yield where | {"type": "response.output_text.delta", "content_index": 0, "delta": piece, "logprobs": []}
        for piece in cut(str(item.get("arguments") or ""), say.style.piece):
            yield where | {"type": "response.function_call_arguments.delta", "delta": piece}
        yield {"type": "response.output_item.done", "output_index": place, "item": item}
    if say.reason is not None:
        yield {"type": f"response.{whole['status']}", "response": whole}


def _nothing_yet(item: Json) -> Json:
    begun: Json = {"content": []} if item["type"] == "message" else {"arguments": ""}
    return begun | {"status": "in_progress"}


def _envelope(say: Say, model: str, number: int) -> Json:
    ends_early = say.reason not in ("stop", "tool_calls", "function_call", None)
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1_700_000_000 + number,
        "model": model,
        "error": None,
        "status": "incomplete" if ends_early else "completed",
        "incomplete_details": {"reason": _CUT.get(say.reason or "", say.reason)} if ends_early else None,
        "usage": _usage(say),
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
    }


def _usage(say: Say) -> Json | None:
    if say.usage is None:
        return None
    read, written = say.usage
    return {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": written,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": read + written,
    }


def _message(text: str, number: int) -> Json:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": [part]}


def _call(call: Call, item_id: str, async_tools: Collection[str]) -> Json:
    is_async = call.name in async_tools if call.is_async is None else call.is_async
    item: Json = {"type": "function_call", "id": item_id, "status": "completed", "call_id": call.id}
    return item | {"name": call.name, "arguments": call.arguments} | ({"async": True} if is_async else {})
