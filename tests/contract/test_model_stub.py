"""The stub refuses what the real chat API refuses, and says where."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from errands_orchestrator.testing.strict.prefix import Prefixes, elements, members
from errands_orchestrator.testing.strict.refusal import RefusedError
from errands_orchestrator.testing.strict.request import check_request

Json = dict[str, object]


def call(call_id: object = "a", name: object = "f", arguments: object = "{}") -> Json:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def user(content: object = "go") -> Json:
    return {"role": "user", "content": content}


def calling(*calls: object, **fields: object) -> Json:
    return {"role": "assistant", "content": None, "tool_calls": list(calls), **fields}


def result(call_id: object = "a", content: object = "done") -> Json:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def tool(name: object = "f", **function: object) -> Json:
    return {"type": "function", "function": {"name": name, **function}}


def request(*messages: object, **fields: object) -> bytes:
    return json.dumps({"model": "m", "messages": list(messages), **fields}).encode()


SCHEMA: Json = {
    "type": "object",
    "properties": {"paths": {"type": "array", "items": {"type": "string"}}},
    "required": ["paths"],
}

GOOD = {
    "plain": request({"role": "system", "content": "be brief"}, user()),
    "parts": request(user([{"type": "text", "text": "a"}])),
    "one call": request(user(), calling(call()), result()),
    "results in another order": request(user(), calling(call("a"), call("b")), result("b"), result("a"), user()),
    "an id used again later": request(user(), calling(call("a")), result(), calling(call("a")), result(), user()),
    "text and call": request(user(), calling(call(), content="wait"), result(content="")),
    "a tool that is not listed": request(user(), calling(call(name="gone")), result(), tools=[tool()]),
    "tools": request(user(), tools=[tool(parameters=SCHEMA, description=""), tool("g")], tool_choice="auto"),
    "a chosen tool": request(user(), tools=[tool()], tool_choice={"type": "function", "function": {"name": "f"}}),
    "stream": request(user(), stream=True, stream_options={"include_usage": True}),
}

BAD = {
    "no json": (b"{", "could not parse"),
    "no utf-8": (b'{"a":"\xff"}', "could not parse"),
    "not an object": (b"[]", "expected an object"),
    "no model": (b'{"messages":[{"role":"user","content":"a"}]}', "Missing required parameter: 'model'"),
    "empty model": (request(user()).replace(b'"m"', b'""'), "'model': empty string"),
    "no messages": (request(), "'messages': empty array"),
    "unknown parameter": (request(user(), color="red"), "Unknown parameter: 'color'"),
    "unknown field": (request(user() | {"kind": "x"}), "Unknown parameter: 'messages[0].kind'"),
    "no role": (request({"content": "a"}), "'messages[0].role'"),
    "unknown role": (request({"role": "robot", "content": "a"}), "unknown role 'robot'"),
    "no content": (request({"role": "user"}), "Missing required parameter: 'messages[0].content'"),
    "null content": (request(user(None)), "'messages[0].content': expected an array"),
    "number as content": (request(user(7)), "'messages[0].content': expected an array"),
    "no parts": (request(user([])), "'messages[0].content': empty array"),
    "an image from a tool": (
        request(user(), calling(call()), result(content=[{"type": "image_url"}])),
        "no content part",
    ),
    "lone surrogate": (request(user("\ud800")), "lone surrogate"),
    "assistant without anything": (request(user(), {"role": "assistant", "content": None}), "got null"),
    "empty list of calls": (request(user(), calling(content="a")), "tool_calls': empty array"),
    "empty id": (request(user(), calling(call("")), result("")), "tool_calls[0].id': empty string"),
    "null id": (request(user(), calling(call(None)), result()), "tool_calls[0].id': expected a string"),
    "long id": (request(user(), calling(call("a" * 41)), result("a" * 41)), "string too long"),
    "equal ids": (request(user(), calling(call(), call()), result()), "duplicate tool call ids"),
    "arguments no json": (request(user(), calling(call(arguments="{")), result()), "arguments': not JSON"),
    "arguments empty": (request(user(), calling(call(arguments="")), result()), "arguments': empty string"),
    "arguments no object": (request(user(), calling(call(arguments="[]")), result()), "not a JSON object"),
    "arguments no text": (request(user(), calling(call(arguments={})), result()), "arguments': expected a string"),
    "name with a blank": (request(user(), calling(call(name="a b")), result()), "does not match pattern"),
    "name too long": (request(user(), calling(call(name="a" * 65)), result()), "does not match pattern"),
    "call unanswered": (request(user(), calling(call())), "Without a response before messages: a"),
    "one of two unanswered": (request(user(), calling(call("a"), call("b")), result("a")), "before messages: b"),
    "answered too late": (request(user(), calling(call()), user(), result()), "before messages[2]: a"),
    "answered twice": (request(user(), calling(call()), result(), result()), "was answered before"),
    "answered again later": (request(user(), calling(call()), result(), user(), result()), "must answer a preceding"),
    "answer without call": (request(user(), result()), "must answer a preceding"),
    "answer to another call": (request(user(), calling(call()), result("b")), "must answer a preceding"),
    "no tools in the list": (request(user(), tools=[]), "'tools': empty array"),
    "choice without tools": (request(user(), tool_choice="auto"), "only allowed when 'tools'"),
    "unknown choice": (request(user(), tools=[tool()], tool_choice="some"), "expected 'auto'"),
    "tool twice": (request(user(), tools=[tool(), tool()]), "taken by an earlier tool"),
    "tool name": (request(user(), tools=[tool("a.b")]), "does not match pattern"),
    "too many tools": (request(user(), tools=[tool(f"f{n}") for n in range(129)]), "array too long"),
    "tool type": (request(user(), tools=[{"type": "tool", "function": {"name": "f"}}]), "expected 'function'"),
    "schema no object": (request(user(), tools=[tool(parameters={"type": "string"})]), "must be of type 'object'"),
    "schema without properties": (request(user(), tools=[tool(parameters={"type": "object"})]), "missing properties"),
    "array without items": (
        request(user(), tools=[tool(parameters={"type": "object", "properties": {"a": {"type": "array"}}})]),
        "properties.a': array schema missing items",
    ),
    "stream no boolean": (request(user(), stream="yes"), "expected a boolean"),
    "stream options alone": (request(user(), stream_options={}), "only allowed when 'stream'"),
}


@pytest.mark.parametrize("body", GOOD.values(), ids=GOOD)
def test_a_good_request_is_taken(body: bytes) -> None:
    assert check_request(body) == json.loads(body)


@pytest.mark.parametrize(("body", "why"), BAD.values(), ids=BAD)
def test_a_bad_request_is_refused_with_the_place(body: bytes, why: str) -> None:
    with pytest.raises(RefusedError) as caught:
        check_request(body)
    assert why in caught.value.message
    assert caught.value.status == 400
    assert json.loads(caught.value.body())["error"]["message"] == caught.value.message


def test_the_raw_text_of_each_part_is_found() -> None:
    text = '{ "a" : [ 1 , {"b":"]}"},"x" ] ,\n"c":null }'
    assert members(text) == {"a": '[ 1 , {"b":"]}"},"x" ]', "c": "null"}
    assert elements(members(text)["a"]) == ("1", '{"b":"]}"}', '"x"')
    assert (members("{}"), elements("[ ]")) == ({}, ())


FIRST = request(user(), tools=[tool()])
SECOND = request(user(), calling(call()), result(), tools=[tool()])
THIRD = request(user(), calling(call()), result(), user("on"), tools=[tool()])


@pytest.mark.parametrize(
    "bodies",
    [
        (FIRST, SECOND, THIRD),
        (FIRST, FIRST, SECOND, SECOND, FIRST, THIRD),
        (THIRD, request(user("other"), user())),
        (FIRST, SECOND, FIRST, request(user(), calling(call("z")), result("z"), tools=[tool()]), THIRD),
    ],
    ids=["grows", "sent again", "another conversation", "two that begin alike"],
)
def test_a_conversation_that_only_grows_is_taken(bodies: tuple[bytes, ...]) -> None:
    prefixes = Prefixes()
    for body in bodies:
        prefixes.check(body)


CHANGES: list[tuple[Callable[[bytes], bytes], str]] = [
    (lambda body: body.replace(b'"done"', b'"dOne"'), "messages[2]"),
    (lambda body: body.replace(b'"{}"', b'"{ }"'), "messages[1]"),
    (lambda body: body.replace(b'"id": "a", ', b'"id":"a", '), "messages[1]"),
    (lambda body: body.replace(b'"name": "f"}}]}', b'"name": "g"}}]}'), "tools"),
]


@pytest.mark.parametrize(("change", "what"), CHANGES)
def test_a_changed_byte_of_what_was_sent_is_refused(change: Callable[[bytes], bytes], what: str) -> None:
    prefixes = Prefixes()
    prefixes.check(FIRST)
    prefixes.check(SECOND)
    assert change(THIRD) != THIRD
    with pytest.raises(RefusedError) as caught:
        prefixes.check(change(THIRD))
    assert f"'{what}' changed" in caught.value.message
