"""What every model must do, held against each implementation: an endpoint whole and streamed, a script, a function."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TypeAlias

import pytest
from pydantic import SecretStr
from tests.stub import STUB_KEY, Call, Hold, Received, Say, StubServer
from tests.waiting import eventually

from errands_config.errors import ModelError
from errands_orchestrator.models import (
    FunctionModel,
    Model,
    ModelCall,
    ModelRequest,
    Reply,
    ScriptedModel,
    SeenMessage,
    chat_model,
    responses_model,
)
from errands_orchestrator.models.scripted import ScriptCall, ScriptTurn

Saying: TypeAlias = Callable[[Sequence[Reply]], AbstractAsyncContextManager[Model]]
"""Makes a model that gives these replies, one for each answer that the conversation has already."""

REQUEST = ModelRequest("m-1", b'[{"role":"user","content":"go"}]')


def _after(answers: int) -> ModelRequest:
    messages = [{"role": "user", "content": "go"}]
    for number in range(answers):
        messages += [{"role": "assistant", "content": f"{number}"}, {"role": "user", "content": "on"}]
    return ModelRequest("m-1", json.dumps(messages).encode())


def _as_say(reply: Reply) -> Say:
    calls = tuple(Call(call.name, call.arguments, call.provider_id) for call in reply.calls)
    return Say(reply.text, calls, "eos" if reply.finish == "other" else reply.finish, usage=None)


def _as_turn(reply: Reply) -> ScriptTurn:
    calls = tuple(ScriptCall(name=c.name, arguments=c.arguments, id=c.provider_id) for c in reply.calls)
    return ScriptTurn(say=reply.text, calls=calls, finish=reply.finish)


def _endpoint(stream: bool, make: Callable[..., Model] = chat_model) -> Saying:
    @asynccontextmanager
    async def saying(replies: Sequence[Reply]) -> AsyncGenerator[Model]:
        def answer(received: Received) -> Say:
            return _as_say(replies[sum(message["role"] == "assistant" for message in received.messages)])

        with StubServer(answer) as stub:
            model = make(url=stub.url, key=SecretStr(STUB_KEY), timeout_seconds=20, stream=stream)
            yield model
            await model.close()
            assert not stub.refusals

    return saying


@asynccontextmanager
async def _script(replies: Sequence[Reply]) -> AsyncGenerator[Model]:
    yield ScriptedModel([_as_turn(reply) for reply in replies])


@asynccontextmanager
async def _function(replies: Sequence[Reply]) -> AsyncGenerator[Model]:
    def answer(messages: Sequence[SeenMessage]) -> Reply:
        return replies[sum(message.role == "assistant" for message in messages)]

    yield FunctionModel(answer)


@pytest.fixture(params=["endpoint", "streaming endpoint", "responses", "streaming responses", "script", "function"])
def saying(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Saying:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    makers: dict[str, Saying] = {
        "endpoint": _endpoint(stream=False),
        "streaming endpoint": _endpoint(stream=True),
        "responses": _endpoint(stream=False, make=responses_model),
        "streaming responses": _endpoint(stream=True, make=responses_model),
        "script": _script,
        "function": _function,
    }
    return makers[request.param]


@pytest.mark.parametrize(
    "reply",
    [
        Reply("Hello."),
        Reply("Grüße, 日本 🎈\n\t“…”"),
        Reply(""),
        Reply("half a sent", finish="length"),
        Reply("", finish="content_filter"),
        Reply("odd", finish="other"),
        Reply("On it.", (ModelCall("a", "f", '{"x": "ä"}'), ModelCall("b", "g", "{}")), "tool_calls"),
        Reply(
            "", tuple(ModelCall(i, "f", f'{{"n":{n}}}') for n, i in enumerate(["a", "a", "", "", "f"])), "tool_calls"
        ),
        Reply("", (ModelCall("a", "no such tool!", '{"x": '), ModelCall("b", "f", "")), "tool_calls"),
        Reply("", (ModelCall("a", "f", '{"x": "' + "long " * 5000 + '"}'),), "length"),
    ],
)
async def test_a_reply_arrives_as_it_was_said(saying: Saying, reply: Reply) -> None:
    async with saying([reply]) as model:
        assert await model.reply(REQUEST) == reply


async def test_what_is_heard_is_the_text(saying: Saying) -> None:
    heard: list[str] = []
    async with saying([Reply("One two three four 🎈 five.")]) as model:
        reply = await model.reply(REQUEST, heard.append)
    assert "".join(heard) == reply.text == "One two three four 🎈 five."
    assert all(heard)


async def test_an_answer_without_text_is_not_heard(saying: Saying) -> None:
    heard: list[str] = []
    async with saying([Reply("", (ModelCall("a", "f", "{}"),), "tool_calls")]) as model:
        await model.reply(REQUEST, heard.append)
    assert heard == []


async def test_the_same_request_gets_the_same_reply(saying: Saying) -> None:
    async with saying([Reply("first"), Reply("second")]) as model:
        answers = [(await model.reply(_after(count))).text for count in (0, 0, 1, 0, 1)]
    assert answers == ["first", "first", "second", "first", "second"]


async def test_many_requests_at_once_do_not_mix(saying: Saying) -> None:
    async with saying([Reply(f"answer {number} " * 20) for number in range(20)]) as model:
        replies = await asyncio.gather(*(model.reply(_after(count)) for count in range(20)))
    assert [reply.text for reply in replies] == [f"answer {number} " * 20 for number in range(20)]


async def test_an_error_of_who_listens_comes_through(saying: Saying) -> None:
    def broken(text: str) -> None:
        raise ZeroDivisionError(text)

    async with saying([Reply("a")]) as model:
        with pytest.raises(ZeroDivisionError):
            await model.reply(REQUEST, broken)


async def test_closing_twice_does_no_harm(saying: Saying) -> None:
    async with saying([Reply("a")]) as model:
        await model.close()
        await model.close()


@pytest.mark.parametrize("stream", [False, True])
async def test_cancelling_a_waiting_task_closes_the_connection_at_once(
    stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with StubServer([Hold()]) as stub:
        model = chat_model(url=stub.url, key=SecretStr(STUB_KEY), timeout_seconds=60, stream=stream)
        asking = asyncio.create_task(model.reply(REQUEST))
        await asyncio.to_thread(eventually, lambda: stub.journal)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await asyncio.to_thread(eventually, lambda: stub.journal[0].outcome == "client left", within=2)
        await model.close()


async def test_cancelling_a_waiting_task_stops_an_async_function() -> None:
    stopped: list[bool] = []

    async def forever(messages: Sequence[SeenMessage]) -> Reply:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(True)
        return Reply("never")

    asking = asyncio.create_task(FunctionModel(forever).reply(REQUEST))
    asking.cancel()  # before it runs: nothing to stop
    with pytest.raises(asyncio.CancelledError):
        await asking
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await FunctionModel(forever).reply(REQUEST)
    assert stopped == [True]


async def test_a_function_may_fail_as_an_endpoint_does() -> None:
    def refuse(messages: Sequence[SeenMessage]) -> Reply:
        raise ModelError("no", cause="endpoint failed", retryable=True)

    with pytest.raises(ModelError, match="no"):
        await FunctionModel(refuse).reply(REQUEST)


async def test_a_function_sees_roles_texts_calls_and_what_they_answer() -> None:
    seen: list[SeenMessage] = []

    def look(messages: Sequence[SeenMessage]) -> Reply:
        seen.extend(messages)
        return Reply("")

    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": [{"type": "text", "text": "go"}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "done"},
    ]
    await FunctionModel(look).reply(ModelRequest("m", json.dumps(messages).encode()))
    assert [(message.role, message.text, message.tool_call_id) for message in seen] == [
        ("system", "be brief", ""),
        ("user", "go", ""),
        ("assistant", "", ""),
        ("tool", "done", "a"),
    ]
    assert [(c.id, c.function.name) for c in seen[2].calls if c.function] == [("a", "f")]


async def test_a_function_sees_items_as_the_messages_that_they_would_be() -> None:
    seen: list[SeenMessage] = []

    def look(messages: Sequence[SeenMessage]) -> Reply:
        seen.extend(messages)
        return Reply("")

    made = [{"type": "function_call", "call_id": name, "name": "f", "arguments": "{}"} for name in "abc"]
    told = [{"type": "function_call_output", "call_id": name, "output": f"{name} is done"} for name in "abc"]
    items = [{"role": "user", "content": "go"}, {"role": "assistant", "content": "On it."}, *made[:2], *told[:2]]
    await FunctionModel(look).reply(ModelRequest("m", json.dumps([*items, made[2], told[2]]).encode()))
    assert [(message.role, message.text, message.tool_call_id) for message in seen] == [
        ("user", "go", ""),
        ("assistant", "On it.", ""),
        ("tool", "a is done", "a"),
        ("tool", "b is done", "b"),
        ("assistant", "", ""),
        ("tool", "c is done", "c"),
    ]
    assert [[call.id for call in message.calls] for message in seen] == [[], ["a", "b"], [], [], ["c"], []]
