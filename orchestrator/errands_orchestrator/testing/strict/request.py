"""What the chat API demands of a request's body."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import cast

from errands_orchestrator.testing.strict.messages import check_messages, check_name
from errands_orchestrator.testing.strict.refusal import RefusedError, Value

_MOST_TOOLS = 128
_KNOWN = frozenset(
    {
        "audio",
        "frequency_penalty",
        "function_call",
        "functions",
        "logit_bias",
        "logprobs",
        "max_completion_tokens",
        "max_tokens",
        "metadata",
        "modalities",
        "n",
        "parallel_tool_calls",
        "prediction",
        "presence_penalty",
        "prompt_cache_key",
        "reasoning_effort",
        "response_format",
        "safety_identifier",
        "seed",
        "service_tier",
        "stop",
        "store",
        "stream",
        "stream_options",
        "temperature",
        "tool_choice",
        "tools",
        "top_logprobs",
        "top_p",
        "user",
        "verbosity",
        "web_search_options",
    }
)


def check_request(body: bytes) -> dict[str, object]:
    """The decoded body. Raises RefusedError unless the chat API would take it."""
    request = decoded(body)
    fields = request.fields(required=("model", "messages"), optional=_KNOWN)
    fields["model"].text()
    check_stream(fields)
    check_tools(fields, _check_tool, _chosen)
    check_messages(fields["messages"])
    return cast("dict[str, object]", request.raw)


def decoded(body: bytes) -> Value:
    """The body as a value. Raises RefusedError if it is no JSON."""
    try:
        return Value(json.loads(body.decode()), "")
    except ValueError:
        raise RefusedError("We could not parse the JSON body of your request.", code="invalid_json") from None


def check_stream(fields: dict[str, Value]) -> None:
    """Raise RefusedError unless the fields say in a way that the API takes whether the answer comes in pieces."""
    stream = fields.get("stream", Value(None, "stream"))
    if stream.raw not in (None, True, False):
        raise stream.refused("expected a boolean", code="invalid_type")
    if "stream_options" in fields and stream.raw is not True:
        raise fields["stream_options"].refused("only allowed when 'stream' is true")


def check_tools(fields: dict[str, Value], check_tool: Callable[[Value], str], chosen: Callable[[Value], Value]) -> None:
    """Raise RefusedError unless these are tools, and a choice among them, that the API takes.

    `check_tool` checks a tool and answers its name, `chosen` answers the name that a choice has.
    """
    for name in ("tool_choice", "parallel_tool_calls"):
        if name in fields and "tools" not in fields:
            raise fields[name].refused("only allowed when 'tools' are specified")
    if "tools" not in fields:
        return
    tools = fields["tools"].elements()
    if len(tools) > _MOST_TOOLS:
        raise fields["tools"].refused(f"array too long, at most {_MOST_TOOLS}", code="array_above_max_length")
    names = [check_tool(tool) for tool in tools]
    for position, name in enumerate(names):
        if name in names[:position]:
            raise tools[position].refused(f"the name {name} is taken by an earlier tool")
    if "tool_choice" in fields:
        _check_choice(fields["tool_choice"], names, chosen)


def _check_choice(choice: Value, names: list[str], chosen: Callable[[Value], Value]) -> None:
    if isinstance(choice.raw, str):
        if choice.raw not in ("auto", "none", "required"):
            raise choice.refused("expected 'auto', 'none' or 'required'")
        return
    name = chosen(choice)
    if name.text() not in names:
        raise name.refused("no such tool")


def _chosen(choice: Value) -> Value:
    return choice.fields(required=("type", "function"))["function"].fields(required=("name",))["name"]


def _check_tool(tool: Value) -> str:
    fields = tool.fields(required=("type", "function"))
    if fields["type"].text() != "function":
        raise fields["type"].refused("expected 'function'")
    function = fields["function"].fields(required=("name",), optional=("description", "parameters", "strict"))
    return check_function(function)


def check_function(function: dict[str, Value]) -> str:
    """Check what a tool says of its function; answers its name."""
    check_name(function["name"])
    if "description" in function:
        function["description"].text(empty=True)
    if "parameters" in function:
        _check_object_schema(function["parameters"])
    return function["name"].text()


def _check_object_schema(schema: Value) -> None:
    fields = schema.raw
    if not isinstance(fields, dict) or cast("dict[str, object]", fields).get("type") != "object":
        raise schema.refused("schema must be of type 'object'", code="invalid_function_parameters")
    if "properties" not in fields:
        raise schema.refused("object schema missing properties", code="invalid_function_parameters")
    _check_schema(schema)


def _check_schema(schema: Value) -> None:
    """The parts of a schema that the API looks at: types, properties, items."""
    if not isinstance(schema.raw, dict):
        raise schema.refused("a schema must be an object", code="invalid_function_parameters")
    fields = cast("dict[str, object]", schema.raw)
    if fields.get("type") == "array" and "items" not in fields:
        raise schema.refused("array schema missing items", code="invalid_function_parameters")
    if "items" in fields:
        _check_schema(Value(fields["items"], f"{schema.path}.items"))
    properties = fields.get("properties", {})
    if not isinstance(properties, dict):
        raise schema.refused("properties must be an object", code="invalid_function_parameters")
    for name, inner in cast("dict[str, object]", properties).items():
        _check_schema(Value(inner, f"{schema.path}.properties.{name}"))
