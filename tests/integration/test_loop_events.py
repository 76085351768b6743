"""What those who watch are told: one end a call, log lines that lose nothing, and nobody's words in them."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncGenerator, Sequence
from typing import Any, cast

import pytest
import redis
import redis.asyncio
from tests.integration.errand import answering, begin, call, event_came, events_of, orchestrating, run_ended
from tests.integration.errand import calls as asking
from tests.integration.fake_worker import FakeWorker, done, fake_worker, gated
from tests.integration.script_scenes import QUEUE, Scene, cancelling, new_record
from tests.waiting import aeventually

from errands_config import keys
from errands_config.scripts import attempts, calls, workers
from errands_config.scripts.script import arun
from errands_config.settings import Settings
from errands_config.store import aio_blocking
from errands_config.wire import CallState, Claimed, Outcome
from errands_orchestrator import sessions
from errands_orchestrator.logs import GROUP, EventLog, log_line
from errands_orchestrator.models.model import Reply
from errands_orchestrator.models.seen import SeenMessage
from errands_orchestrator.service import orchestrator

CALL_FACTS = {"session_id", "conversation_id", "tool_call_id", "tool", "provider_call_id", "attempt"}
SECRET = "s3cr3t"


@pytest.fixture
def scene(store: redis.Redis) -> Scene:
    made = Scene(store)
    made.owned()
    return made


@pytest.fixture
async def connection(settings: Settings, store: redis.Redis) -> AsyncGenerator[redis.asyncio.Redis]:
    async with aio_blocking(settings, 2) as client:
        yield client


def all_events(scene: Scene) -> list[dict[str, str]]:
    return [fields for _, fields in cast("Any", scene.store.xrange(keys.EVENTS))]


# ---- the lines


def complete(scene: Scene) -> None:
    scene.ended(done("x"))


def fail(scene: Scene) -> None:
    scene.ended(Outcome(state=CallState.FAILED, error="x", error_kind="ValueError"))


def time_out(scene: Scene) -> None:
    scene.ended(Outcome(state=CallState.TIMED_OUT, timeout_seconds=2.5))


def cancel(scene: Scene) -> None:
    scene.queued()
    scene.run(cancelling(scene.place(), by="operator", reason="enough"))


def lose(scene: Scene) -> None:
    scene.running()
    scene.run(workers.settle("w1"))
    scene.run(calls.settle_call(scene.place(), "w1"))


def refuse(scene: Scene) -> None:
    record = new_record("c1", state="failed", error="invalid arguments: x", error_kind="invalid arguments")
    scene.committed(records=(record,))


@pytest.mark.parametrize(
    ("ends", "kind", "level", "more"),
    [
        (complete, "completed", "info", {"elapsed_ms"}),
        (fail, "failed", "warning", {"elapsed_ms", "error"}),
        (time_out, "timed_out", "warning", {"elapsed_ms", "timeout_seconds"}),
        (cancel, "cancelled", "info", {"by", "reason"}),
        (lose, "orphaned", "warning", {"elapsed_ms"}),
        (refuse, "failed", "warning", {"error"}),
    ],
    ids=["completed", "failed", "timed out", "cancelled", "orphaned", "refused"],
)
def test_the_line_of_an_end_has_its_facts_and_its_place(
    ends: Any, kind: str, level: str, more: set[str], scene: Scene
) -> None:
    ends(scene)

    lines = [json.loads(log_line(event)) for event in all_events(scene)]
    [end] = [line for line in lines if "end_seq" in line]

    assert (end["kind"], end["level"]) == (f"tool_call.{kind}", level)
    assert end.keys() == CALL_FACTS | more | {"ts", "kind", "level", "end_seq"}
    assert end["end_seq"] == scene.fields()["end_seq"]
    assert all(isinstance(end[name], int | float) for name in {"attempt", "elapsed_ms", "timeout_seconds"} & end.keys())


def test_the_lines_of_a_call_on_its_way_have_their_facts(scene: Scene) -> None:
    claimed = scene.running()
    scene.run(attempts.progress(claimed, '{"x":"é"}'))

    lines = {line["kind"]: line for line in (json.loads(log_line(event)) for event in all_events(scene))}

    assert lines["tool_call.queued"].keys() == CALL_FACTS | {"ts", "kind", "level"}
    assert lines["tool_call.started"].keys() == CALL_FACTS | {"ts", "kind", "level", "queued_ms"}
    assert lines["tool_call.progressed"].keys() == CALL_FACTS | {"ts", "kind", "level", "payload_bytes"}
    assert lines["tool_call.progressed"]["payload_bytes"] == len('{"x":"é"}'.encode())


def test_a_line_for_a_file_has_no_time() -> None:
    line = log_line({"kind": "run.ended", "at": "1700000000123", "seq": "1-0", "status": "idle"}, stamped=False)

    assert json.loads(line) == {"kind": "run.ended", "level": "info", "status": "idle"}


def test_a_line_says_when_in_utc() -> None:
    line = log_line({"kind": "run.ended", "at": "1700000000123"})

    assert json.loads(line)["ts"] == "2023-11-14T22:13:20.123Z"


# ---- the log loses nothing


def printed(capfd: pytest.CaptureFixture[str]) -> list[str]:
    """The ends of calls among the lines that were printed."""
    return [line["tool_call_id"] for line in map(json.loads, capfd.readouterr().err.splitlines()) if "end_seq" in line]


async def test_what_a_reader_read_before_it_died_is_printed_by_another(
    scene: Scene, connection: redis.asyncio.Redis, capfd: pytest.CaptureFixture[str]
) -> None:
    log = EventLog(connection, "alive", stale_ms=0)
    await log.open()
    for number in range(5):
        scene.ended(cid=f"c{number}", token=f"a{number}")
    await connection.xreadgroup(GROUP, "dead", {keys.EVENTS: ">"}, count=9)
    capfd.readouterr()

    await log.print_some()
    seen = printed(capfd)

    assert sorted(set(seen)) == [f"c{number}" for number in range(5)]
    assert cast("Any", await connection.xpending(keys.EVENTS, GROUP))["pending"] == 0


async def test_a_line_that_was_acknowledged_is_not_printed_again(
    scene: Scene, connection: redis.asyncio.Redis, capfd: pytest.CaptureFixture[str]
) -> None:
    log = EventLog(connection, "alive", stale_ms=0)
    await log.open()
    scene.ended()
    await log.print_some()
    capfd.readouterr()

    scene.ended(cid="c2", token="a2")
    await log.print_some()

    assert printed(capfd) == ["c2"]


async def test_a_store_that_lost_the_group_gets_it_again(
    scene: Scene, connection: redis.asyncio.Redis, capfd: pytest.CaptureFixture[str]
) -> None:
    log = EventLog(connection, "alive")
    await log.open()
    await connection.xgroup_destroy(keys.EVENTS, GROUP)

    await log.print_some()
    scene.ended()
    await log.print_some()

    assert printed(capfd) == ["c1"]


async def test_what_is_no_event_of_ours_is_passed_over(
    scene: Scene, connection: redis.asyncio.Redis, capfd: pytest.CaptureFixture[str]
) -> None:
    log = EventLog(connection, "alive", stale_ms=0)
    await log.open()
    await connection.xadd(keys.EVENTS, {"kind": "somebody's"})
    scene.ended()

    await log.print_some()

    assert printed(capfd) == ["c1"]
    assert cast("Any", await connection.xpending(keys.EVENTS, GROUP))["pending"] == 0


async def test_a_reader_that_has_not_ended_keeps_its_name(scene: Scene, connection: redis.asyncio.Redis) -> None:
    first, second = EventLog(connection, "first"), EventLog(connection, "second")
    await first.open()
    scene.ended()
    await first.print_some()

    await second.open()

    assert [one["name"] for one in cast("Any", await connection.xinfo_consumers(keys.EVENTS, GROUP))] == ["first"]


async def test_two_orchestrators_log_every_end_of_many_calls(
    settings: Settings, astore: redis.asyncio.Redis, capfd: pytest.CaptureFixture[str]
) -> None:
    def answer(messages: Sequence[SeenMessage]) -> Reply:
        return asking(*(call("work", x=n) for n in range(5))) if len(messages) == 2 else Reply("done")

    make = answering(answer)
    async with (
        fake_worker(settings, "work") as worker,
        orchestrator(settings, make_model=make),
        orchestrator(settings, make_model=make),
    ):
        await aeventually(lambda: has_group(astore))
        sids = [await begin(astore) for _ in range(10)]
        await run_ended(astore, *sids)
        await aeventually(lambda: all_acknowledged(astore))

    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    ends = {(line["tool_call_id"], line["end_seq"]) for line in lines if "end_seq" in line}
    assert {cid for cid, _ in ends} == {one.call for one in worker.claimed}
    assert len(ends) == 50
    assert sum(line["kind"] == "run.ended" for line in lines) >= 10


async def has_group(store: redis.asyncio.Redis) -> bool:
    return bool(await store.exists(keys.EVENTS)) and bool(await store.xinfo_groups(keys.EVENTS))


async def all_acknowledged(store: redis.asyncio.Redis) -> bool:
    [group] = await store.xinfo_groups(keys.EVENTS)
    return group["lag"] == 0 and group["pending"] == 0


# ---- nobody's words


async def test_no_event_and_no_message_carries_what_was_said_asked_or_answered(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    sid = await begin(astore, f"my {SECRET}")
    messages_sent: list[str] = []

    async def leaky(worker: FakeWorker, claimed: Claimed) -> Outcome:
        await arun(worker.store, attempts.progress(claimed, json.dumps({"line": SECRET})))
        await arun(worker.store, attempts.notify(claimed, 1, json.dumps({"message": SECRET}), SECRET))
        if claimed.tool == "slow":
            return Outcome(state=CallState.FAILED, error=SECRET, error_kind="ValueError")
        return done(SECRET)

    def answer(messages: Sequence[SeenMessage]) -> Reply:
        if len(messages) == 2:
            return asking(call("work", "a", x=SECRET), call("slow", "b", x=SECRET), call("nope", "c", x=SECRET))
        return Reply(SECRET)

    async with orchestrating(settings, answer):
        await event_came(astore, sid, "tool_call.queued", 2)
        messages_sent += cast("list[str]", await cast("Any", astore.lrange(QUEUE, 0, -1)))
        async with fake_worker(settings, "work", "slow", tool=leaky):
            await run_ended(astore, sid)

    events = json.dumps(await events_of(astore, sid)) + json.dumps(await astore.xrange(keys.EVENTS))
    assert SECRET not in events
    assert len(messages_sent) == 2
    bodies = [base64.b64decode(json.loads(sent)["body"]).decode() for sent in messages_sent]
    assert SECRET not in "".join(messages_sent) + "".join(bodies)


async def test_every_call_of_a_run_has_one_end_in_both_streams(settings: Settings, astore: redis.asyncio.Redis) -> None:
    sid = await begin(astore)

    def answer(messages: Sequence[SeenMessage]) -> Reply:
        if len(messages) == 2:
            return asking(*(call("slow", x=n) for n in range(4)), call("unknown"))
        return Reply("done")

    async with fake_worker(settings, "slow", tool=gated) as worker, orchestrating(settings, answer):
        worker.end('{"x":0}', done("fine"))
        worker.end('{"x":1}', Outcome(state=CallState.FAILED, error="no"))
        worker.end('{"x":2}', Outcome(state=CallState.TIMED_OUT, timeout_seconds=1))
        worker.end('{"x":3}', Outcome(state=CallState.CANCELLED))
        await run_ended(astore, sid)

    cids = await sessions.call_ids(astore, sid)
    everywhere = [fields for _, fields in cast("Any", await astore.xrange(keys.EVENTS)) if "end_seq" in fields]
    assert sorted(fields["tool_call_id"] for fields in everywhere) == sorted(cids)
    streamed = {seq for seq, _ in cast("Any", await astore.xrange(keys.events(sid)))}
    assert {fields["end_seq"] for fields in everywhere} <= streamed
