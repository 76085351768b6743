"""How late results are told over whole sessions: as events, piece by piece, with a digest behind them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import redis.asyncio
from tests.integration.errand import (
    Answer,
    begin,
    call,
    calls,
    event_came,
    faults_of,
    leftovers,
    log_of,
    orchestrating,
    run_ended,
)
from tests.integration.fake_worker import FakeWorker, done, fake_worker, gated
from tests.waiting import aeventually

from errands_config import keys
from errands_config.scripts import attempts
from errands_config.scripts.script import arun
from errands_config.settings import Settings
from errands_config.wire import Claimed, Outcome
from errands_orchestrator import sessions
from errands_orchestrator.compaction import as_seen
from errands_orchestrator.digest import OUTSTANDING
from errands_orchestrator.models.model import ModelCall, Reply
from errands_orchestrator.models.seen import SeenMessage
from errands_orchestrator.session import AssistantEntry, CompactionEntry, ToolsEntry, UserEntry
from errands_orchestrator.transcript import Transcript
from errands_orchestrator.transcripts import Transcripts

ONE, TWO, THREE = (f'{{"x":{number}}}' for number in (1, 2, 3))


def user_texts(messages: Sequence[SeenMessage]) -> list[str]:
    return [message.text for message in messages if message.role == "user"]


async def told(store: redis.asyncio.Redis, sid: str) -> list[str]:
    """The user messages behind the first."""
    return [entry.text for entry in await log_of(store, sid) if isinstance(entry, UserEntry)][1:]


def calling(*made: ModelCall) -> Answer:
    """A model that makes these calls and goes on talking."""
    return lambda messages: calls(*made) if len(messages) == 2 else Reply(f"answer to {len(messages)}")


async def test_events_come_in_the_order_in_which_things_happened(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    model = calling(call("slow", "call_a", x=1), call("slow", "call_b", x=2))
    async with orchestrating(settings, model), fake_worker(settings, tool=gated) as worker:
        sid = await begin(astore, asyncYieldStrategy={"tag": "yieldOnTimeout", "milliseconds": 0},
                          delivery={"style": "event"})  # fmt: skip
        await event_came(astore, sid, "turn.completed", 2)
        worker.end(TWO, done("412 passed, 3 failed (auth/session.test.ts)\n" + "a line\n" * 9_000))
        await event_came(astore, sid, "turn.completed", 3)
        await sessions.send(astore, sid, "and the other one?")
        await event_came(astore, sid, "turn.completed", 4)
        worker.end(ONE, done("clean"))
        await run_ended(astore, sid)

    assert await told(astore, sid) == [
        "[event] job_completed job_id=call_b tool=slow status=done\n"
        "summary: 412 passed, 3 failed (auth/session.test.ts)\ndetails: get-tool-call-status(call_b)",
        "and the other one?",
        "[event] job_completed job_id=call_a tool=slow status=done\n"
        "summary: clean\ndetails: get-tool-call-status(call_a)",
    ]
    assert await faults_of(astore, sid) == []
    assert await leftovers(astore) == {}


async def test_what_came_during_one_answer_is_told_piece_by_piece_and_nothing_is_lost(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    may_answer = asyncio.Event()

    async def model(messages: Sequence[SeenMessage]) -> Reply:
        if len(messages) == 2:
            return calls(*(call("slow", f"call_{n}", x=n) for n in (1, 2, 3)))
        await may_answer.wait()
        return Reply("heard")

    bounded: dict[str, Any] = {
        "asyncYieldStrategy": {"tag": "yieldOnTimeout", "milliseconds": 0},
        "delivery": {"maxItems": 2},
    }
    async with orchestrating(settings, model), fake_worker(settings, tool=gated) as worker:
        sid = await begin(astore, **bounded)
        await event_came(astore, sid, "turn.started", 2)
        for number, arguments in enumerate((THREE, ONE, TWO), 1):
            worker.end(arguments, done(f"result {arguments}"))
            await event_came(astore, sid, "tool_call.completed", number)
        await sessions.send(astore, sid, "hello?")
        may_answer.set()
        await run_ended(astore, sid)

    texts = await told(astore, sid)
    assert [(text.count("tool_call_id"), "hello?" in text) for text in texts] == [(1, True), (2, False)]
    assert [part for part in "\n".join(texts).splitlines() if part.startswith("result")] == [
        f"result {arguments}" for arguments in (THREE, ONE, TWO)
    ]
    assert await faults_of(astore, sid) == []
    assert await leftovers(astore) == {}


async def test_a_rest_is_told_by_the_next_owner_too(settings: Settings, astore: redis.asyncio.Redis) -> None:
    asked = asyncio.Event()

    async def silent(messages: Sequence[SeenMessage]) -> Reply:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    sid = await begin(astore, "one", delivery={"maxItems": 1})
    for text in ("two", "three"):
        await sessions.send(astore, sid, text)
    async with orchestrating(settings, silent):
        await asyncio.wait_for(asked.wait(), 10)
    async with orchestrating(settings, lambda messages: Reply(f"heard {user_texts(messages)[-1]}")):
        await run_ended(astore, sid)

    assert await told(astore, sid) == ["two", "three"]


async def test_a_digest_stands_behind_a_message_with_the_newest_progress(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    async def reporting(worker: FakeWorker, claimed: Claimed) -> Outcome:
        await arun(worker.store, attempts.progress(claimed, '{"line":"3 of 40 pages"}'))
        return await worker.gated(claimed)

    digesting: dict[str, Any] = {"asyncYieldStrategy": {"tag": "yieldOnTimeout", "milliseconds": 0},
                 "registry": {"digest": True, "handles": True}}  # fmt: skip
    model = calling(call("slow", "call_a", x=1, task_handle="pages_1"))
    async with orchestrating(settings, model), fake_worker(settings, tool=reporting) as worker:
        sid = await begin(astore, **digesting)
        [cid] = await aeventually(lambda: sessions.call_ids(astore, sid), saying="the call is made")
        await event_came(astore, sid, "turn.completed", 2)
        await aeventually(lambda: astore.exists(keys.progress(cid)), saying="progress is kept")
        await event_came(astore, sid, "tool_call.progressed")
        for number in (3, 4):
            await sessions.send(astore, sid, "how far is it?")
            await event_came(astore, sid, "turn.completed", number)
        worker.end(ONE, done("all pages"))
        await run_ended(astore, sid)

    first, again, last = await told(astore, sid)
    head, _, digest = first.partition("\n\n")
    assert head == "how far is it?"
    assert digest.startswith(f"{OUTSTANDING}\n- pages_1 (slow): running since 20")
    assert digest.endswith("Z, last progress: 3 of 40 pages")
    assert again == "how far is it?"
    assert OUTSTANDING not in last
    assert await faults_of(astore, sid) == []


async def test_a_digest_says_what_is_asked(settings: Settings, astore: redis.asyncio.Redis) -> None:
    asking: dict[str, Any] = {
        "registry": {"digest": True},
        "builtinToolboxes": [{"tag": "SystemToolbox", "contents": {"Capabilities": ["ask-user"]}}],
    }
    model = calling(call("ask-user", "call_q", question="Which\ncolour?"))
    async with orchestrating(settings, model):
        sid = await begin(astore, "go", "work", **asking)
        await event_came(astore, sid, "turn.completed", 2)
        await sessions.send(astore, sid, "wait a moment")
        await event_came(astore, sid, "turn.completed", 3)

    assert await told(astore, sid) == [
        f'wait a moment\n\n{OUTSTANDING}\n- call_q (ask-user): deferred, asks "Which colour?"'
    ]


# ---- compaction


def talking(turns: int, seen: list[list[tuple[str, str]]]) -> Answer:
    """A model that makes a call in each of so many turns, and keeps what it was sent."""

    def answer(messages: Sequence[SeenMessage]) -> Reply:
        seen.append([(message.role, message.text) for message in messages])
        spoken = sum(message.role == "assistant" for message in messages)
        return calls(call("wait", f"call_{spoken}", x=spoken)) if spoken % (turns + 1) < turns else Reply("done")

    return answer


async def long_answer(worker: FakeWorker, claimed: Claimed) -> Outcome:
    return done(f"answer to {claimed.arguments}\n" + "and so on\n" * 50)


async def test_old_results_become_one_line_and_another_orchestrator_sends_the_very_same(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    seen: list[list[tuple[str, str]]] = []
    async with fake_worker(settings, tool=long_answer):
        async with orchestrating(settings, talking(6, seen)):
            sid = await begin(astore, delivery={"compactAfterTurns": 2})
            await run_ended(astore, sid)
        async with orchestrating(settings, talking(6, seen)):
            await sessions.send(astore, sid, "once more")
            await event_came(astore, sid, "run.ended", 2)

    before, after = seen[6], seen[7]
    assert after[: len(before)] == before
    tools = [text for role, text in before if role == "tool"]
    ids = await sessions.call_ids(astore, sid)
    assert tools[:4] == [
        f'answer to {{"x":{n}}} [in short; get-tool-call-status({ids[n]}) reads the rest]' for n in range(4)
    ]
    assert all(text.count("and so on") == 50 for text in tools[4:])
    log = await log_of(astore, sid)
    assert [entry.before for entry in log if isinstance(entry, CompactionEntry)][:2] == [3, 5]
    whole = [message.text for entry in log if isinstance(entry, ToolsEntry) for message in entry.messages]
    assert all(text.count("and so on") == 50 for text in whole)
    assert await faults_of(astore, sid) == []


async def test_a_transcript_that_was_kept_is_the_one_that_is_made_of_the_log(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    seen: list[list[tuple[str, str]]] = []
    async with fake_worker(settings, tool=long_answer), orchestrating(settings, talking(7, seen)):
        sid = await begin(astore, delivery={"compactAfterTurns": 1})
        await run_ended(astore, sid)

    log = await log_of(astore, sid)
    kept, behind = Transcripts(astore), Transcripts(astore)
    for number in range(1, len(log) + 1):
        made = Transcript.of("p", as_seen(log[:number]))
        for grown in (await kept.upto(sid, number, "p"), await behind.upto(sid, number, "p")):
            assert (grown.count, grown.size) == (made.count, made.size)
            if not isinstance(log[number - 1], AssistantEntry):
                assert grown.messages() == made.messages()
        kept.committed(sid, number, log[number : number + 1])
