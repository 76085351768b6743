"""What the Responses API demands of a request's body.

The endpoint keeps no response, so there is none that a request could go on from, and none runs in the background.
"""

from __future__ import annotations

from typing import cast

from errands_orchestrator.testing.strict.items import check_items
from errands_orchestrator.testing.strict.refusal import RefusedError, Value
from errands_orchestrator.testing.strict.request import check_function, check_stream, check_tools, decoded

_KNOWN = frozenset(
    {
        "background",
        "conversation",
        "include",
        "instructions",
        "max_output_tokens",
        "max_tool_calls",
        "metadata",
        "parallel_tool_calls",
        "previous_response_id",
        "prompt",
        "prompt_cache_key",
        "reasoning",
        "safety_identifier",
        "service_tier",
        "store",
        "stream",
        "stream_options",
        "temperature",
        "text",
        "tool_choice",
        "tools",
        "top_logprobs",
        "top_p",
        "truncation",
        "user",
    }
)


def check_response_request(body: bytes) -> dict[str, object]:
    """The decoded body. Raises RefusedError unless the Responses API would take it."""
    request = decoded(body)
    fields = request.fields(required=("model", "input"), optional=_KNOWN)
    fields["model"].text()
    check_stream(fields)
    _check_kept(fields)
    check_tools(fields, _check_tool, lambda choice: choice.fields(required=("type", "name"))["name"])
    tools = fields["tools"].elements() if "tools" in fields else []
    offered = [cast("dict[str, object]", tool.raw) for tool in tools]
    check_items(fields["input"], {str(tool["name"]) for tool in offered if tool.get("async") is True})
    return cast("dict[str, object]", request.raw)


def _check_kept(fields: dict[str, Value]) -> None:
    previous = fields.get("previous_response_id", Value(None, "previous_response_id"))
    if previous.raw is not None:
        raise RefusedError(
            f"Previous response with id '{previous.text()}' not found.",
            param=previous.path,
            code="previous_response_not_found",
            status=404,
        )
    background = fields.get("background", Value(None, "background"))
    if background.raw not in (None, False):
        raise background.refused("this endpoint answers at once only")


def _check_tool(tool: Value) -> str:
    fields = tool.fields(required=("type", "name", "parameters"), optional=("description", "strict", "async"))
    if fields["type"].text() != "function":
        raise fields["type"].refused("expected 'function'")
    for name in ("strict", "async"):
        flag = fields.get(name, Value(None, name))
        if flag.raw not in (None, True, False):
            raise flag.refused("expected a boolean", code="invalid_type")
    name = check_function(fields)
    if fields.get("strict", Value(True, "strict")).raw is not False:
        _check_strict(fields["parameters"])
    return name


def _check_strict(schema: Value) -> None:
    """Unless a tool says otherwise, its schema must demand every argument and forbid others."""
    fields = cast("dict[str, object]", schema.raw)
    properties = cast("dict[str, object]", fields.get("properties", {}))
    if fields.get("additionalProperties") is not False:
        raise schema.refused("'additionalProperties' must be false", code="invalid_function_parameters")
    if set(cast("list[str]", fields.get("required", []))) != set(properties):
        raise schema.refused("'required' must name every property", code="invalid_function_parameters")
