"""Whole sessions over HTTP in both dialects: where results stand, and in which order, however late they come."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
import redis.asyncio
from tests.integration.dialects import CHAT, EMULATED, NATIVE, asking, outputs, sent, speaking, texts_of
from tests.integration.errand import begin, event_came, make_agent, run_ended
from tests.integration.fake_worker import done, fake_worker, gated, offer
from tests.integration.test_loop_registry import heeding
from tests.stub import STUB_KEY, Call, Say, StubServer
from tests.waiting import aeventually

from errands_config import keys
from errands_config.policy import compile_policy
from errands_config.settings import Settings
from errands_orchestrator import reads, sessions
from errands_orchestrator.brief import Brief, Toolset
from errands_orchestrator.calls import call_rows
from errands_orchestrator.capabilities import wait
from errands_orchestrator.capabilities.desk import Desk
from errands_orchestrator.deferred import Deferrals
from errands_orchestrator.outside_result import Result
from errands_orchestrator.session import CapabilityCall
from errands_orchestrator.snapshot import load_session
from errands_orchestrator.testing import strict_model

openai_stub = strict_model


@pytest.fixture(autouse=True)
def key(clean_environment: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the endpoint wants."""
    monkeypatch.setenv("OPENAI_API_KEY", STUB_KEY)


WAIT, CANCEL, ASK, STATUS = "wait-for-tool-calls", "cancel-tool-call", "ask-user", "get-tool-call-status"
ALL = {"tag": "SystemToolbox", "contents": {"Capabilities": [WAIT, CANCEL, ASK, STATUS]}}
AGENT: dict[str, Any] = {
    "builtinToolboxes": [ALL],
    "toolCallPolicyConfig": {
        "default": {"tag": "runSync"},
        "rules": [
            {"tool": "slow", "disposition": {"tag": "runAsync", "attachSeconds": 0}},
            {"tool": "lookup_price", "disposition": {"tag": "runAsync"}},
            {"tool": "gate", "disposition": {"tag": "defer", "reason": "somebody has to agree", "attached": False}},
        ],
    },
}
LOOKUP = offer("lookup_price", parameters='{"type":"object","properties":{"sku":{"type":"string"}},"required":["sku"]}')
PRICE = '{"task_handle":"widget_price_1","price_cents":1200,"currency":"USD"}'
LOOK = '{"sku":"WIDGET","task_handle":"widget_price_1"}'
WAITING = '{"task_handles":["widget_price_1"]}'
WAITED = '{"status":"completed","completed_task_handles":["widget_price_1"]}'


def spoken(*calls: tuple[str, str, str]) -> Say:
    """An answer with calls: name, id, arguments."""
    return Say(calls=tuple(Call(name, arguments, call_id) for name, call_id, arguments in calls))


async def price_looked_up(
    settings: Settings, store: redis.asyncio.Redis, stub: StubServer, dialect: dict[str, Any]
) -> list[dict[str, Any]]:
    """The example of the registry: a lookup and a wait for its handle in one message; what came behind the prompt."""
    stub.program(speaking(spoken(("lookup_price", "call_widget", LOOK), (WAIT, "call_wait", WAITING))))
    async with asking(settings, stub), fake_worker(settings, LOOKUP, tool=gated) as worker:
        sid = await begin(store, "go", LOOKUP, **AGENT, **dialect, registry={"handles": True})
        await event_came(store, sid, "tool_call.started")
        worker.end('{"sku":"WIDGET"}', done(PRICE))
        await run_ended(store, sid)
    return sent(stub)[1][2:]


async def test_a_price_is_returned_on_its_call_before_the_status_of_the_wait(
    settings: Settings, astore: redis.asyncio.Redis, openai_stub: StubServer
) -> None:
    assert await price_looked_up(settings, astore, openai_stub, NATIVE) == [
        {
            "type": "function_call",
            "name": "lookup_price",
            "async": True,
            "call_id": "call_widget",
            "arguments": LOOK,
        },
        {"type": "function_call", "name": WAIT, "call_id": "call_wait", "arguments": WAITING},
        {"type": "function_call_output", "call_id": "call_widget", "output": PRICE},
        {"type": "function_call_output", "call_id": "call_wait", "output": WAITED},
    ]


@pytest.mark.parametrize("dialect", [CHAT, EMULATED], ids=["chat", "responses without asynchronous tools"])
async def test_so_it_is_where_the_model_has_no_asynchronous_tools(
    settings: Settings, astore: redis.asyncio.Redis, openai_stub: StubServer, dialect: dict[str, Any]
) -> None:
    items = await price_looked_up(settings, astore, openai_stub, dialect)
    assert outputs(items) == [("call_widget", PRICE), ("call_wait", WAITED)]


BEGUN = spoken(
    ("slow", "call_a", '{"x":1}'), ("gate", "call_g", '{"x":2}'), (ASK, "call_q", '{"question":"Which colour?"}')
)
TALK = (
    BEGUN,
    Say("They run."),
    spoken(("slow", "call_b", '{"x":3}')),
    spoken((CANCEL, "call_c", '{"tool_call_id":"call_b"}')),
    Say("It is cancelled."),
)


async def talked(
    settings: Settings, store: redis.asyncio.Redis, stub: StubServer, dialect: dict[str, Any]
) -> list[list[dict[str, Any]]]:
    """Calls whose results come turns later, a person who speaks meanwhile, a cancel, a question, and two restarts."""
    stub.program(speaking(*TALK))
    async with fake_worker(settings, tool=heeding) as worker:
        async with asking(settings, stub):
            sid = await begin(store, "go", "slow", "gate", **AGENT, **dialect)
            await event_came(store, sid, "turn.completed", 2)
        async with asking(settings, stub):
            await sessions.send(store, sid, "and now?")
            await event_came(store, sid, "turn.completed", 5)
        calls = {row.provider_id: row.id for row in await call_rows(store, await sessions.call_ids(store, sid))}
        desk = Deferrals(store, settings)
        await desk.complete(calls["call_g"], Result(text="agreed"))
        await desk.answer(calls["call_q"], "blue")
        worker.end('{"x":1}', done("result one"))
        await event_came(store, sid, "tool_call.completed", 3)
        async with asking(settings, stub):
            await run_ended(store, sid)
    return sent(stub)


async def test_results_that_come_turns_later_are_outputs_of_their_own_calls(
    settings: Settings, astore: redis.asyncio.Redis, openai_stub: StubServer
) -> None:
    requests = await talked(settings, astore, openai_stub, NATIVE)
    assert [len(outputs(items)) for items in requests[:4]] == [0, 0, 0, 0]
    assert [item.get("call_id") for item in requests[1][2:]] == ["call_a", "call_g", "call_q"]
    assert all(item["async"] for item in requests[1][2:])
    assert requests[2][-1] == {"role": "user", "content": "and now?"}
    answered = outputs(requests[-1])
    assert [call_id for call_id, _ in answered[-3:]] == ["call_g", "call_q", "call_a"]
    assert dict(answered)["call_a"] == "result one"
    assert dict(answered)["call_b"] in ("already reported by cancel-tool-call", "async tool call was cancelled")
    assert texts_of(requests[-1]) == ["go", "and now?"]


@pytest.mark.parametrize("dialect", [CHAT, EMULATED], ids=["chat", "responses without asynchronous tools"])
async def test_elsewhere_they_are_notices_behind_placeholders(
    settings: Settings, astore: redis.asyncio.Redis, openai_stub: StubServer, dialect: dict[str, Any]
) -> None:
    requests = await talked(settings, astore, openai_stub, dialect)
    first = dict(outputs(requests[1]))
    assert list(first) == ["call_a", "call_g", "call_q"]
    assert all("has not finished yet" in text for text in first.values())
    assert outputs(requests[-1])[:3] == list(first.items())
    news = texts_of(requests[-1])[-1]
    assert [news.count(word) for word in ("result one", "agreed", "blue")] == [1, 1, 1]


@pytest.mark.parametrize("dialect", [CHAT, EMULATED, NATIVE], ids=["chat", "emulated", "native"])
async def test_each_result_is_sent_once_in_every_dialect(
    settings: Settings, astore: redis.asyncio.Redis, openai_stub: StubServer, dialect: dict[str, Any]
) -> None:
    last = json.dumps((await talked(settings, astore, openai_stub, dialect))[-1])
    assert [last.count(word) for word in ("result one", "agreed", "blue")] == [1, 1, 1]
    assert len(openai_stub.journal) == 6


async def is_waiting(store: redis.asyncio.Redis, sid: str) -> bool:
    """Whether something that was asked about calls waits for one."""
    kept = await reads.field(store, keys.session(sid), "snapshot")
    return any(asked.targets for asked in load_session(kept).asked) if kept else False


@pytest.mark.parametrize(
    ("name", "arguments", "answer"),
    [
        (WAIT, '{"tool_call_ids":["call_a"]}', {"status": "completed", "completed_tool_call_ids": ["call_a"]}),
        (
            STATUS,
            '{"tool_call_id":"call_a","wait_for_completion":true}',
            {"status": "completed", "result": "see its own tool message"},
        ),
    ],
)
async def test_who_waits_for_an_earlier_call_finds_its_result_on_the_call(
    settings: Settings, astore: redis.asyncio.Redis, openai_stub: StubServer, name: str, arguments: str, answer: Any
) -> None:
    openai_stub.program(speaking(spoken(("slow", "call_a", '{"x":1}')), spoken((name, "call_q", arguments))))
    async with asking(settings, openai_stub), fake_worker(settings, tool=gated) as worker:
        sid = await begin(astore, "go", "slow", **AGENT, **NATIVE)
        await aeventually(lambda: is_waiting(astore, sid), saying="the wait has begun")
        worker.end('{"x":1}', done("result one"))
        await run_ended(astore, sid)
    [result, (asked, said)] = outputs(sent(openai_stub)[-1])
    assert (result, asked) == (("call_a", "result one"), "call_q")
    assert json.loads(said).items() >= answer.items()
    assert "result one" not in said


async def test_an_id_that_the_provider_uses_again_stands_for_one_call(
    settings: Settings, astore: redis.asyncio.Redis, openai_stub: StubServer
) -> None:
    again = [spoken(("slow", "call_a", f'{{"x":{number}}}')) for number in (1, 2, 3)]
    openai_stub.program(speaking(*again))
    async with asking(settings, openai_stub), fake_worker(settings, tool=gated) as worker:
        sid = await begin(astore, "go", "slow", **AGENT, **NATIVE)
        await event_came(astore, sid, "turn.completed", 4)
        for number in (3, 1, 2):
            worker.end(f'{{"x":{number}}}', done(f"result {number}"))
            await event_came(astore, sid, "turn.completed", 4 + (3, 1, 2).index(number) + 1)
        await run_ended(astore, sid)
    last = sent(openai_stub)[-1]
    assert [item["call_id"] for item in last if item.get("type") == "function_call"] == [
        "call_a",
        "call_a~2",
        "call_a~3",
    ]
    assert outputs(last) == [("call_a~3", "result 3"), ("call_a", "result 1"), ("call_a~2", "result 2")]


async def test_a_wait_knows_no_more_than_the_messages_beside_it(
    settings: Settings, astore: redis.asyncio.Redis, openai_stub: StubServer
) -> None:
    openai_stub.program(speaking(spoken(("slow", "call_a", '{"x":1}')), Say("It runs.")))
    async with fake_worker(settings, tool=gated) as worker:
        async with asking(settings, openai_stub):
            sid = await begin(astore, "go", "slow", **AGENT, **NATIVE)
            await event_came(astore, sid, "turn.completed", 2)
        worker.end('{"x":1}', done("result one"))
        await event_came(astore, sid, "tool_call.completed")
    kept = await reads.field(astore, keys.session(sid), "snapshot")
    session = load_session(kept or "")
    agent = make_agent(**AGENT, **NATIVE)
    asked = CapabilityCall("q", "q", WAIT, 0, '{"tool_call_ids":["call_a"]}')
    desk = Desk(astore, Brief(agent, compile_policy(agent), Toolset()), session, asked, 0, nobody)
    assert (await wait.begin(desk)).targets == (session.calls[0].id,)
    assert json.loads((await wait.answer(desk)).text) == {
        "status": "timed_out", "completed_tool_call_ids": [], "pending_tool_call_ids": ["call_a"],
    }  # fmt: skip


async def nobody(calls: Sequence[str]) -> None:
    """There is nobody to tell."""
