"""A Responses endpoint over HTTP: what is sent, the forms of an answer, and each way in which it can fail."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest
from pydantic import SecretStr
from tests.stub import STUB_KEY, Answer, Call, Drop, Raw, Say, Status, StubServer

from errands_config.errors import ModelError
from errands_orchestrator.models import ModelCall, ModelRequest, Reply, ResponsesModel, Usage, responses_model
from errands_orchestrator.testing import strict_model

openai_stub = strict_model

REQUEST = ModelRequest("m-1", b'[{"role":"user","content":"go"}]')
SCHEMA = '{"type":"object","properties":{}}'
TOOLS = b'[ {"type":"function", "name":"f","parameters":%b,"strict":false,"async":true} ]' % SCHEMA.encode()


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
async def model(request: pytest.FixtureRequest, openai_stub: StubServer) -> AsyncIterator[ResponsesModel]:
    made = responses_model(url=openai_stub.url, key=SecretStr(STUB_KEY), timeout_seconds=20, stream=request.param)
    yield made
    await made.close()


async def failure(model: ResponsesModel) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await model.reply(REQUEST)
    return caught.value


async def test_items_and_tools_arrive_byte_for_byte_and_nothing_is_to_be_kept(
    model: ResponsesModel, openai_stub: StubServer
) -> None:
    items = '[ {"role" : "user","content":"\\u00e4 ü  🎈"},\n{"content":"a","role":"user"} ]'.encode()
    openai_stub.program([Say("a"), Say("b")])
    await model.reply(ModelRequest("m-1", items))
    await model.reply(ModelRequest("m-1", items.replace(b"user", b"developer"), TOOLS, "required"))
    plain, with_tools = openai_stub.journal
    assert items in plain.body
    assert plain.request.keys() <= {"model", "input", "store", "stream"}
    assert plain.request["store"] is False
    assert TOOLS in with_tools.body
    assert with_tools.request["tool_choice"] == "required"


async def test_a_call_says_whether_its_result_may_come_later(model: ResponsesModel, openai_stub: StubServer) -> None:
    openai_stub.program([Say(calls=(Call("f"), Call("g"), Call("f", is_async=False)))])
    reply = await model.reply(ModelRequest("m-1", REQUEST.messages, TOOLS))
    assert [call.is_async for call in reply.calls] == [True, False, False]


async def test_tokens_are_counted(model: ResponsesModel, openai_stub: StubServer) -> None:
    openai_stub.program([Say("a", usage=(7, 3))])
    assert (await model.reply(REQUEST)).usage == Usage(7, 3)


ITEMS: list[dict[str, object]] = [
    {"type": "reasoning", "id": "rs_1", "summary": []},
    {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "I "}, {"type": "refusal", "refusal": "won't."}],
    },
    {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": None, "async": None},
    {"type": "web_search_call", "id": "ws_1", "status": "completed"},
]


def event(**fields: object) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (str(fields["type"]).encode(), json.dumps(fields).encode())


COMPLETED = event(type="response.completed", response={"status": "completed", "output": []})
FORMS = {
    "whole": Raw(json.dumps({"object": "response", "status": "completed", "output": ITEMS}).encode()),
    "without a status": Raw(json.dumps({"output": ITEMS}).encode()),
    "an event that has all": Raw(event(type="response.completed", response={"output": ITEMS}), "text/event-stream"),
    "items that were streamed": Raw(
        b"".join([*(event(type="response.output_item.done", item=item) for item in ITEMS), COMPLETED]),
        "text/event-stream",
    ),
    "text that was streamed": Raw(
        b"".join(
            [
                event(type="response.created", response={"status": "in_progress", "output": []}),
                event(type="response.output_text.delta", delta="I "),
                event(type="response.refusal.delta", delta="won't."),
                *(event(type="response.output_item.done", item=item) for item in ITEMS),
                event(type="response.of_the_future", surprise=1),
                COMPLETED,
            ]
        ),
        "text/event-stream",
    ),
}


@pytest.mark.parametrize("answer", FORMS.values(), ids=FORMS)
async def test_an_answer_is_read_in_every_form(model: ResponsesModel, openai_stub: StubServer, answer: Raw) -> None:
    heard: list[str] = []
    openai_stub.program([answer])
    assert await model.reply(REQUEST, heard.append) == Reply("I won't.", (ModelCall("c", "f", ""),), "tool_calls")
    assert "".join(heard) == "I won't."


@pytest.mark.parametrize("reason", ["max_output_tokens", "content_filter", "something_new", None])
async def test_the_calls_of_an_answer_that_was_cut_count_as_cut(
    model: ResponsesModel, openai_stub: StubServer, reason: str | None
) -> None:
    cut = {"status": "incomplete", "incomplete_details": reason and {"reason": reason}, "output": ITEMS}
    openai_stub.program([Raw(json.dumps(cut).encode())])
    assert await model.reply(REQUEST) == Reply("I won't.", (ModelCall("c", "f", ""),), "length")


async def test_a_stream_that_breaks_behind_its_end_is_whole(openai_stub: StubServer) -> None:
    openai_stub.program([Raw(event(type="response.completed", response={"output": ITEMS[1:2]}) + b"data: {", SSE)])
    model = responses_model(url=openai_stub.url, key=SecretStr(STUB_KEY), stream=True)
    assert await model.reply(REQUEST) == Reply("I won't.")
    await model.close()


SSE = "text/event-stream"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Raw(b"not json"), "is not JSON"),
        (Raw(b"{}"), "what is no response: it has no output"),
        (Raw(b"[1,2]"), "cannot be read"),
        (Raw(b'{"output":"hi"}'), "`output` cannot be read"),
        (Raw(b'{"choices":[{"message":{"content":"hi"}}]}'), "it has no output"),
        (Raw(b'{"status":"queued","output":[]}'), "its status is queued"),
        (Raw(b"", SSE), "ended before the response did"),
        (Raw(event(type="response.output_text.delta", delta="a"), SSE), "ended before the response did"),
        (Raw(event(type="response.cancelled", response={"status": "cancelled"}), SSE), "its status is cancelled"),
        (Say("never ends", finish=None, cut_after=1), "broke off"),
    ],
)
async def test_garbage_is_named_and_may_be_asked_again(
    model: ResponsesModel, openai_stub: StubServer, answer: Answer, said: str
) -> None:
    openai_stub.program([answer])
    error = await failure(model)
    assert (error.cause, error.retryable) == ("endpoint answered garbage", True)
    assert said in str(error)


FAILED = {"status": "failed", "output": [], "error": {"code": "server_error", "message": "upstream is overloaded"}}


@pytest.mark.parametrize(
    "answer",
    [
        Raw(json.dumps(FAILED).encode()),
        Raw(event(type="response.failed", response=FAILED), SSE),
        Raw(event(type="error", code="server_error", message="upstream is overloaded", param=None), SSE),
        Raw(event(type="error", error={"message": "upstream is overloaded"}), SSE),
    ],
)
async def test_an_error_inside_an_answer_that_began_well_is_reported(
    model: ResponsesModel, openai_stub: StubServer, answer: Raw
) -> None:
    openai_stub.program([answer])
    error = await failure(model)
    assert (error.cause, error.retryable) == ("endpoint failed", True)
    assert "reported an error (upstream is overloaded)" in str(error)


async def test_an_endpoint_without_this_api_is_told_with_what_to_check(
    model: ResponsesModel, openai_stub: StubServer
) -> None:
    openai_stub.program([Status(404, "no such path"), Drop()])
    error = await failure(model)
    assert not error.retryable
    assert "Check `modelUrl`, `modelName` and `flavor`" in str(error)
    assert (await failure(model)).cause == "endpoint not reachable"
