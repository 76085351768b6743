"""The stub refuses what the Responses API refuses, and says where."""

from __future__ import annotations

import json

import pytest

from errands_orchestrator.testing.strict.prefix import Prefixes
from errands_orchestrator.testing.strict.refusal import RefusedError
from errands_orchestrator.testing.strict.response_request import check_response_request

Json = dict[str, object]
EMPTY: Json = {"type": "object", "properties": {}}
LOOSE: Json = {"type": "object", "properties": {"x": {"type": "integer"}}}
TIGHT: Json = LOOSE | {"required": ["x"], "additionalProperties": False}


def user(content: object = "go") -> Json:
    return {"role": "user", "content": content}


def said(text: str = "well") -> Json:
    return {"role": "assistant", "content": text}


def call(call_id: object = "a", name: object = "f", arguments: object = "{}", **more: object) -> Json:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments, **more}


def later(call_id: str = "a") -> Json:
    return call(call_id, "slow", **{"async": True})


def output(call_id: object = "a", text: object = "done") -> Json:
    return {"type": "function_call_output", "call_id": call_id, "output": text}


def tool(name: str = "f", parameters: Json = LOOSE) -> Json:
    return {"type": "function", "name": name, "parameters": parameters, "strict": False}


TOOLS = [tool(), tool("slow") | {"async": True}]


def request(*items: object, **fields: object) -> bytes:
    return json.dumps({"model": "m", "input": list(items), "tools": TOOLS, **fields}).encode()


GOOD = {
    "plain": request({"role": "system", "content": "be brief"}, user(), store=False),
    "a message with its type": request(user() | {"type": "message"}, said() | {"type": "message"}),
    "parts": request(user([{"type": "input_text", "text": "a"}])),
    "one call": request(user(), call(), output()),
    "outputs in another order": request(user(), call("a"), call("b"), output("b"), output("a"), user()),
    "text and calls": request(user(), said(), call("a"), call("b"), output("a"), output("b"), said()),
    "an open call": request(user(), later()),
    "an open call over other turns": request(later(), user(), call("b"), output("b"), said(), user()),
    "a late output": request(later(), user(), said(), output("a"), user()),
    "late outputs beside others": request(later("a"), user(), call("b"), output("a"), output("b")),
    "a chosen tool": request(user(), tool_choice={"type": "function", "name": "f"}),
    "a strict tool": request(user(), tools=[tool(parameters=TIGHT) | {"strict": True}]),
}

BAD = {
    "no json": (b"{", "could not parse"),
    "no input": (b'{"model":"m"}', "Missing required parameter: 'input'"),
    "messages": (b'{"model":"m","messages":[]}', "Unknown parameter: 'messages'"),
    "nothing in it": (request(), "'input': empty array"),
    "unknown parameter": (request(user(), color="red"), "Unknown parameter: 'color'"),
    "unknown type": (request({"type": "thought"}), "'input[0].type': unknown type"),
    "unknown role": (request({"role": "tool", "content": "x"}), "unknown role 'tool'"),
    "parts of the other API": (request(user([{"type": "text", "text": "a"}])), "no content part"),
    "the name that the openai package has for it": (
        request(call(**{"async_": True}), output()),
        "Unknown parameter: 'input[0].async_'",
    ),
    "a call unanswered": (request(user(), call()), "No tool output found for function call a"),
    "a call unanswered beside an open one": (request(call("a"), later("b")), "function call a"),
    "answered too late": (request(call(), user(), output()), "a, before input[1]"),
    "answered behind another answer": (request(call("a"), call("b"), output("a"), call("c")), "b, before input[3]"),
    "answered twice": (request(call(), output(), output()), "was answered before"),
    "an open call answered twice": (request(later(), user(), output(), user(), output()), "was answered before"),
    "output without call": (request(user(), output()), "no tool call found"),
    "output before its call": (request(output(), call()), "no tool call found"),
    "output without id": (request(call(), {"type": "function_call_output", "output": ""}), "'input[1].call_id'"),
    "an id of an open call": (request(later(), later()), "duplicate call id a"),
    "an id of an earlier call": (request(call(), output(), call(), output()), "duplicate call id a"),
    "empty id": (request(call(""), output("")), "call_id': empty string"),
    "long id": (request(call("a" * 65), output("a" * 65)), "string too long"),
    "arguments no json": (request(call(arguments="{"), output()), "arguments': not JSON"),
    "arguments no object": (request(call(arguments="[]"), output()), "not a JSON object"),
    "name with a blank": (request(call(name="a b"), output()), "does not match pattern"),
    "an open call of a tool that is not asynchronous": (request(call(**{"async": True})), "was not offered as"),
    "asynchronous in another way": (request(call(**{"async": "yes"}), output()), "expected a boolean"),
    "output no text": (request(call(), output(text={})), "'input[1].output': expected a string"),
    "an unknown response to go on from": (request(user(), previous_response_id="resp_9"), "'resp_9' not found"),
    "a response in the background": (request(user(), background=True), "answers at once only"),
    "a tool of the other API": (request(user(), tools=[{"type": "function", "function": {}}]), "Unknown parameter"),
    "a tool that is strict by silence": (
        request(user(), tools=[{"type": "function", "name": "f", "parameters": LOOSE}]),
        "additionalProperties",
    ),
    "a strict tool with optional arguments": (
        request(user(), tools=[tool(parameters=TIGHT | {"required": []}) | {"strict": True}]),
        "'required' must name every property",
    ),
    "tool twice": (request(user(), tools=[tool(), tool()]), "taken by an earlier tool"),
    "choice that is none": (request(user(), tool_choice={"type": "function", "name": "g"}), "no such tool"),
}


@pytest.mark.parametrize("body", GOOD.values(), ids=GOOD)
def test_what_the_api_takes_is_taken(body: bytes) -> None:
    assert check_response_request(body)["model"] == "m"


@pytest.mark.parametrize(("body", "why"), BAD.values(), ids=BAD)
def test_what_the_api_refuses_is_refused_and_named(body: bytes, why: str) -> None:
    with pytest.raises(RefusedError) as refused:
        check_response_request(body)
    assert why in refused.value.message


def test_an_unknown_response_is_not_found() -> None:
    with pytest.raises(RefusedError) as refused:
        check_response_request(request(user(), previous_response_id="resp_9"))
    assert (refused.value.status, refused.value.code) == (404, "previous_response_not_found")


def test_a_conversation_of_items_only_grows() -> None:
    prefixes = Prefixes()
    prefixes.check(request(user(), later()))
    prefixes.check(request(user(), later(), output()))
    with pytest.raises(RefusedError, match=r"'input\[2\]' changed"):
        prefixes.check(request(user(), later(), output(text="else"), user()))
