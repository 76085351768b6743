"""A chat endpoint over HTTP: what is sent, and each way in which an endpoint can fail."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import subprocess
import sys
import traceback
from collections.abc import AsyncIterator

import pytest
from pydantic import SecretStr
from tests.stub import HANG, STUB_KEY, Answer, Call, Drop, Raw, Say, Status, StubServer, Style

from errands_config.errors import ConfigError, ModelError
from errands_orchestrator.models import ChatModel, ModelCall, ModelRequest, Reply, chat_model
from errands_orchestrator.testing import strict_model

openai_stub = strict_model

REQUEST = ModelRequest("m-1", b'[{"role":"user","content":"go"}]')
TOOLS = b'[ {"type":"function", "function":{"name":"f","parameters":{"type":"object","properties":{}}}} ]'

STYLES = [
    Style(),
    Style(interleaved=True),
    Style(index="zero"),
    Style(index="zero", ids="every", interleaved=True),
    Style(index="zero", ids="never"),
    Style(index="zero", ids="never", names="every", piece=100),
    Style(index="missing"),
    Style(index="missing", ids="never", piece=100),
    Style(ids="every", names="every", piece=1),
]


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
async def model(request: pytest.FixtureRequest, openai_stub: StubServer) -> AsyncIterator[ChatModel]:
    made = chat_model(url=openai_stub.url, key=SecretStr(STUB_KEY), timeout_seconds=20, stream=request.param)
    yield made
    await made.close()


async def failure(model: ChatModel) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await model.reply(REQUEST)
    return caught.value


# ---- what is sent ------------------------------------------------------------------------------------------------


async def test_messages_and_tools_arrive_byte_for_byte(model: ChatModel, openai_stub: StubServer) -> None:
    messages = '[ {"role" : "user","content":"\\u00e4 ü  🎈"},\n{"content":"a","role":"user"} ]'.encode()
    others = messages.replace(b"user", b"system")
    openai_stub.program([Say("a"), Say("b")])
    await model.reply(ModelRequest('odd "name" ä', messages))
    await model.reply(ModelRequest("m-1", others, TOOLS, "required"))
    plain, with_tools = openai_stub.journal
    assert messages in plain.body
    assert plain.request["model"] == 'odd "name" ä'
    assert plain.request.keys() <= {"model", "messages", "stream"}
    assert others in with_tools.body
    assert TOOLS in with_tools.body
    assert with_tools.request["tool_choice"] == "required"


async def test_a_request_says_who_asks_in_what_form(model: ChatModel, openai_stub: StubServer) -> None:
    openai_stub.program([Say("a")])
    await model.reply(REQUEST)
    headers = openai_stub.journal[0].headers
    assert headers["authorization"] == f"Bearer {STUB_KEY}"
    assert headers["content-type"] == "application/json"


@pytest.mark.parametrize("stream", [False, True])
async def test_the_answer_is_asked_for_in_pieces_only_if_that_is_wanted(openai_stub: StubServer, stream: bool) -> None:
    openai_stub.program([Say("a")])
    model = chat_model(url=openai_stub.url, key=SecretStr(STUB_KEY), stream=stream)
    await model.reply(REQUEST)
    await model.close()
    assert [entry.wants_stream for entry in openai_stub.journal] == [stream]


async def test_a_connection_is_used_again(model: ChatModel, openai_stub: StubServer) -> None:
    ports: set[str] = set()
    openai_stub.program([Say("a")] * 5)
    for _ in range(5):
        await model.reply(REQUEST)
    ports.update(entry.client for entry in openai_stub.journal)
    assert len(ports) == 1


async def test_url_and_key_come_from_the_environment_of_the_openai_package(
    openai_stub: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", openai_stub.url)
    monkeypatch.setenv("OPENAI_API_KEY", f" {STUB_KEY}\n")
    openai_stub.program([Say("a")])
    model = chat_model()
    assert (await model.reply(REQUEST)).text == "a"
    await model.close()


# ---- forms of an answer ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", STYLES)
async def test_parallel_calls_arrive_however_a_gateway_streams_them(openai_stub: StubServer, style: Style) -> None:
    texts = ['{"city": "Rome", "days": 3}', '{"city": "Oslo"}', "{}"]
    openai_stub.program([Say("On it.", tuple(Call("get_weather", text) for text in texts), style=style)])
    model = chat_model(url=openai_stub.url, key=SecretStr(STUB_KEY), stream=True)
    reply = await model.reply(REQUEST)
    await model.close()
    ids = ["", "", ""] if style.ids == "never" else ["call_1_1", "call_1_2", "call_1_3"]
    assert reply.calls == tuple(ModelCall(i, "get_weather", text) for i, text in zip(ids, texts, strict=True))
    assert (reply.text, reply.finish) == ("On it.", "tool_calls")


async def test_an_endpoint_that_never_streams_and_one_that_always_does_are_read(
    model: ChatModel, openai_stub: StubServer
) -> None:
    whole = b'{"choices":[{"message":{"content":"whole"},"finish_reason":"stop"}]}'
    streamed = (
        b': ping\n\ndata: {"choices":[{"delta":{"content":"streamed"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    )
    openai_stub.program([Raw(whole, "application/json; charset=utf-8"), Raw(streamed, "text/event-stream")])
    assert await model.reply(REQUEST) == Reply("whole")
    assert await model.reply(REQUEST) == Reply("streamed")


async def test_a_stream_that_breaks_behind_its_finish_reason_is_whole(openai_stub: StubServer) -> None:
    openai_stub.program([Say("abc", cut_after=3)])
    model = chat_model(url=openai_stub.url, key=SecretStr(STUB_KEY), stream=True)
    assert await model.reply(REQUEST) == Reply("abc")
    await model.close()


# ---- failures ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "cause", "retryable"),
    [
        (401, "endpoint refused the key", False),
        (403, "endpoint refused the key", False),
        (404, "endpoint refused the request", False),
        (408, "endpoint failed", True),
        (429, "endpoint limits the rate", True),
        (500, "endpoint failed", True),
        (503, "endpoint failed", True),
    ],
)
async def test_an_http_error_keeps_its_words_and_is_sent_once(
    model: ChatModel, openai_stub: StubServer, status: int, cause: str, retryable: bool
) -> None:
    openai_stub.program([Status(status, "because of the moon", (("retry-after", "2.5"),))])
    error = await failure(model)
    assert (error.cause, error.retryable, error.retry_after) == (cause, retryable, 2.5)
    assert f"{openai_stub.url} answered {status} (because of the moon)." in str(error)
    assert len(openai_stub.journal) == 1


async def test_what_the_strict_endpoint_refuses_is_told(model: ChatModel, openai_stub: StubServer) -> None:
    with pytest.raises(ModelError, match="must answer a preceding message") as caught:
        await model.reply(ModelRequest("m", b'[{"role":"tool","tool_call_id":"x","content":""}]'))
    assert not caught.value.retryable
    openai_stub.journal.clear()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Raw(b"not json"), "is not JSON"),
        (Raw(b""), "is not JSON"),
        (Raw(b"\xff\xfe\xfd"), "is not JSON"),
        (Raw(b"[" * 100_000), "is not JSON"),
        (Raw(b"<html>welcome</html>", "text/html"), "of content type text/html"),
        (Raw(b"{}"), "it has no choices"),
        (Raw(b'{"choices":[]}'), "it has no choices"),
        (Raw(b"[1,2]"), "cannot be read"),
        (Raw(b'{"choices":[{"message":"hi"}]}'), "choices.0.message"),
        (Raw(b"", "text/event-stream"), "it has no choices"),
        (Raw(b"data: {\n\n", "text/event-stream"), "is not JSON"),
        (Raw(b"data: \xff\n\n", "text/event-stream"), "is not JSON"),
        (
            Raw(b'data: {"choices":[{"delta":{"content":"a"}}]}\n\ndata: [DONE]\n\n', "text/event-stream"),
            "ended before",
        ),
        (Say("never finishes", finish=None, cut_after=1), "broke off"),
    ],
)
async def test_garbage_is_named_and_may_be_asked_again(
    model: ChatModel, openai_stub: StubServer, answer: Answer, said: str
) -> None:
    openai_stub.program([answer])
    error = await failure(model)
    assert (error.cause, error.retryable) == ("endpoint answered garbage", True)
    assert said in str(error)


@pytest.mark.parametrize("content_type", ["application/json", "text/event-stream"])
async def test_an_error_inside_an_answer_that_began_well_is_reported(
    model: ChatModel, openai_stub: StubServer, content_type: str
) -> None:
    body = b'{"error":{"message":"upstream is overloaded","code":529}}'
    openai_stub.program([Raw(body if "json" in content_type else b"data: " + body + b"\n\n", content_type)])
    error = await failure(model)
    assert (error.cause, error.retryable) == ("endpoint failed", True)
    assert "reported an error (upstream is overloaded)" in str(error)


async def test_a_connection_that_is_dropped_may_be_asked_again(model: ChatModel, openai_stub: StubServer) -> None:
    openai_stub.program([Drop(), Say("a")])
    error = await failure(model)
    assert (error.cause, error.retryable) == ("endpoint not reachable", True)
    assert (await model.reply(REQUEST)).text == "a"


@pytest.mark.parametrize("stream", [False, True])
async def test_nobody_listening_is_told_and_may_be_asked_again(stream: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://user:password@127.0.0.1:{taken.getsockname()[1]}/v1?token=x"
        model = chat_model(url=url, key=SecretStr(STUB_KEY), stream=stream)
        error = await failure(model)
        await model.close()
    assert (error.cause, error.retryable) == ("endpoint not reachable", True)
    assert str(error).endswith("Check `modelUrl`.")
    assert not any(secret in str(error) for secret in ("user", "password", "token"))


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("answer", [HANG, Say("a" * 500, style=Style(piece=1), pause=0.05), Say("a", pause=60)])
async def test_an_answer_that_takes_too_long_is_given_up(openai_stub: StubServer, answer: Answer, stream: bool) -> None:
    openai_stub.program([answer] if stream or not isinstance(answer, Say) else [Say("a", pause=60)])
    model = chat_model(url=openai_stub.url, key=SecretStr(STUB_KEY), timeout_seconds=0.3, stream=stream)
    error = await failure(model)
    await model.close()
    assert (error.cause, error.retryable) == ("endpoint timed out", True)
    assert "gave no whole answer within 0.3 s" in str(error)


# ---- keys --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [None, SecretStr(""), SecretStr(" \n")])
def test_without_a_key_it_is_said_what_to_set(key: SecretStr | None, clean_environment: None) -> None:
    with pytest.raises(ModelError, match="Set OPENAI_API_KEY, or name a key of the settings as `apiKeyId`") as caught:
        chat_model(url="http://127.0.0.1:1/v1", key=key)
    assert (caught.value.cause, caught.value.retryable) == ("no API key", False)


@pytest.mark.parametrize("key", ["sk-one two", "sk-ä", "sk-a\nb", "sk-\x00"])
def test_a_key_that_no_header_can_carry_is_refused_unseen(key: str) -> None:
    with pytest.raises(ModelError, match="no HTTP header can carry") as caught:
        chat_model(url="http://127.0.0.1:1/v1", key=SecretStr(key))
    assert "sk-" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("url", ["localhost:8000/v1", "ftp://a/v1", "nonsense", "http://", "http://a:port/v1"])
def test_a_url_that_is_none_is_refused_with_its_key(url: str) -> None:
    with pytest.raises(ConfigError, match="modelUrl: "):
        chat_model(url=url, key=SecretStr(STUB_KEY))


@pytest.mark.parametrize(
    "answer",
    [
        Status(401, f"Incorrect API key provided: {STUB_KEY}"),
        Status(500, f"bad header: Bearer {STUB_KEY}"),
        Raw(json.dumps({"error": {"message": f"key {STUB_KEY}"}}).encode()),
        Raw(STUB_KEY.encode(), "text/plain"),
        Raw(f'data: {{"choices": "{STUB_KEY}"}}\n\n'.encode(), "text/event-stream"),
    ],
)
async def test_no_error_and_no_log_line_shows_the_key(
    model: ChatModel, openai_stub: StubServer, answer: Answer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    openai_stub.program([answer])
    error = await failure(model)
    chain: list[BaseException | None] = [error, error.__cause__, error.__context__]
    assert chain[1:] == [None, None]
    shown = "".join(traceback.format_exception(error))
    assert STUB_KEY not in shown + repr(vars(error)) + repr(vars(model)) + caplog.text


def test_the_openai_package_is_imported_only_for_an_endpoint() -> None:
    program = "import sys, errands_orchestrator.models; sys.exit('openai' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


async def test_fifty_requests_at_once_are_answered(model: ChatModel, openai_stub: StubServer) -> None:
    openai_stub.program(lambda received: Say(str(received.messages[0]["content"])))
    requests = [ModelRequest("m", json.dumps([{"role": "user", "content": str(n)}]).encode()) for n in range(50)]
    replies = await asyncio.gather(*(model.reply(request) for request in requests))
    assert [reply.text for reply in replies] == [str(n) for n in range(50)]
