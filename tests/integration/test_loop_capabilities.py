"""What the model may ask about its own calls, answered from real records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import orjson
import pytest
import redis
import redis.asyncio
from tests.integration.asking import NOW, ONE, TWO, Asking
from tests.integration.errand import (
    CANCEL,
    RUNNING,
    STATUS,
    begin,
    call,
    event_came,
    faults_of,
    log_of,
    orchestrating,
    run_ended,
    shown,
)
from tests.integration.errand import calls as asking
from tests.integration.fake_worker import done, fake_worker, gated
from tests.integration.script_scenes import DONE, HOLDER, QUEUE, Scene, policy

from errands_config import keys
from errands_config.scripts import attempts, calls, workers
from errands_config.settings import Settings
from errands_config.wire import CallState, Outcome
from errands_orchestrator.arrivals import Answered, Begun
from errands_orchestrator.capabilities.cancel import CONFIRM_MS
from errands_orchestrator.capabilities.status import HELD_MS, NOTHING_NEW, OWN_MESSAGE
from errands_orchestrator.models.model import Reply
from errands_orchestrator.models.seen import SeenMessage
from errands_orchestrator.session import Phase, ToolsEntry


@pytest.fixture
def asks(astore: redis.asyncio.Redis, store: redis.Redis) -> Asking:
    scene = Scene(store)
    scene.owned()
    return Asking(astore, scene)


# ---- get-tool-call-status


async def test_the_status_of_a_running_call_tells_all_that_is_known(asks: Asking) -> None:
    claimed = asks.scene.running(ONE)
    asks.tracks(ONE)
    for number in range(3):
        asks.scene.run(attempts.progress(claimed, f'{{"done":{number}}}'))

    report, answered = await asks.answer(STATUS, tool_call_id="p1")

    assert report.pop("started_at").endswith("Z")
    assert report == {
        "tool_call_id": "p1", "status": "running", "tool_name": "work", "completed_at": None, "result": None,
        "is_final": False, "progress": [{"done": 2}, {"done": 1}, {"done": 0}, {"started": True}],
    }  # fmt: skip
    assert answered.read == ()


async def test_the_status_of_a_queued_call_is_pending_without_times(asks: Asking) -> None:
    asks.scene.queued(ONE)
    asks.tracks(ONE)

    report, _ = await asks.answer(STATUS, tool_call_id="p1", include_progress=False)

    assert (report["status"], report["started_at"], report["completed_at"]) == ("pending", None, None)
    assert "progress" not in report


async def test_reading_a_final_result_brings_it_and_marks_it_read(asks: Asking) -> None:
    asks.scene.ended(cid=ONE)
    asks.tracks(ONE)

    report, answered = await asks.answer(STATUS, tool_call_id="p1")

    assert (report["status"], report["result"], report["is_final"]) == ("completed", "fine", True)
    assert report["completed_at"].endswith("Z")
    assert answered.read == (ONE,)


async def test_a_result_read_by_status_is_capped_and_framed_like_any_other(asks: Asking) -> None:
    asks.scene.ended(Outcome(state=CallState.COMPLETED, result="[mail 1 from user]\n" + "x" * 100_000), cid=ONE)
    asks.tracks(ONE)

    report, _ = await asks.answer(STATUS, tool_call_id="p1")

    assert report["result"].startswith("> [mail 1 from user]")
    assert report["result"].endswith("[truncated: result exceeded 65536 bytes]")


async def test_a_result_whose_own_tool_message_is_of_this_turn_is_not_said_twice(asks: Asking) -> None:
    asks.scene.ended(cid=ONE)
    asks.tracks(ONE)
    asks.session = replace(asks.session, phase=Phase.ATTACHED)

    report, answered = await asks.answer(STATUS, tool_call_id="p1")

    assert report["result"] == OWN_MESSAGE
    assert answered.read == ()


@pytest.mark.parametrize(("seconds", "waits_ms"), [(None, 5_000), (2.5, 2_500), (0, 0), (9999, 300_000), (-1, 0)])
async def test_a_wait_for_the_end_is_as_long_as_asked_and_never_longer_than_allowed(
    seconds: float | None, waits_ms: int, asks: Asking
) -> None:
    asks.scene.running(ONE)
    asks.tracks(ONE)
    more: Mapping[str, Any] = {} if seconds is None else {"timeout_seconds": seconds}

    begun = await asks.begin(STATUS, tool_call_id="p1", wait_for_completion=True, **more)

    assert (begun.targets, begun.wait_until) == ((ONE,), NOW + waits_ms)


async def test_a_wait_for_a_call_that_has_ended_is_none(asks: Asking) -> None:
    asks.scene.ended(cid=ONE)
    asks.tracks(ONE)

    assert await asks.begin(STATUS, tool_call_id="p1", wait_for_completion=True) == Begun("q1")


async def test_a_wait_that_was_woken_says_by_whom(asks: Asking) -> None:
    asks.scene.running(ONE)
    asks.tracks(ONE)

    report, _ = await asks.answer(STATUS, tool_call_id="p1", woken_by="notify")

    assert report["woken_by"] == "notify"


async def test_the_third_read_without_news_waits_for_some_and_says_so_and_news_start_the_count_again(
    asks: Asking,
) -> None:
    claimed = asks.scene.running(ONE)
    asks.tracks(ONE)

    async def read() -> tuple[int | None, str | None]:
        begun = await asks.begin(STATUS, tool_call_id="p1")
        report, answered = await asks.answer(STATUS, tool_call_id="p1")
        asks.session = replace(asks.session, reads=(answered.seen,) if answered.seen else ())
        return begun.wait_until, report.get("note")

    assert [await read() for _ in range(4)] == [
        (None, None),
        (None, None),
        (NOW + HELD_MS, NOTHING_NEW),
        (NOW + HELD_MS, NOTHING_NEW),
    ]
    asks.scene.run(attempts.progress(claimed, '{"done":1}'))
    assert await read() == (None, None)


# ---- which call is meant


async def test_our_own_id_is_understood_and_comes_first(asks: Asking) -> None:
    asks.scene.ended(cid=ONE)
    asks.scene.running(TWO, provider_id=ONE, token="a2")
    asks.tracks(TWO, ONE)

    report, _ = await asks.answer(STATUS, tool_call_id=ONE)

    assert report["status"] == "completed"


async def test_an_id_that_the_provider_used_twice_means_the_call_in_flight_else_the_newest(asks: Asking) -> None:
    asks.scene.running(ONE)
    asks.tracks(ONE)
    asks.scene.queued(TWO)
    asks.scene.run(calls.cancel(asks.scene.place(TWO), by="user", reason="x"))
    asks.tracks(TWO, state=CallState.CANCELLED)

    in_flight, _ = await asks.answer(STATUS, tool_call_id="p1")
    asks.scene.run(attempts.finish(held(asks, ONE), HOLDER, QUEUE, DONE))
    asks.session = replace(asks.session, calls=())
    newest, _ = await asks.answer(STATUS, tool_call_id="p1")

    assert (in_flight["status"], newest["status"]) == ("running", "cancelled")


def held(asks: Asking, cid: str) -> Any:
    got = asks.scene.run(attempts.claim(asks.scene.message(cid), "a1", HOLDER))
    assert not isinstance(got, attempts.ClaimRefused)
    return got


@pytest.mark.parametrize("name", [STATUS, CANCEL])
@pytest.mark.parametrize(
    "tool_call_id",
    ["", "p9", TWO, f"{ONE}:progress", f"{ONE}\n", "*", "../../due", "\u2028", "x" * 100_000],
    ids=["empty", "unknown", "unknown id", "a key of ours", "id and newline", "glob", "path", "line separator", "long"],
)
async def test_a_name_of_no_call_is_not_found_whatever_it_looks_like(
    name: str, tool_call_id: str, asks: Asking
) -> None:
    asks.scene.running(ONE)
    asks.tracks(ONE)

    assert await asks.begin(name, tool_call_id=tool_call_id) == Begun("q1")
    said, answered = await asks.answer(name, tool_call_id=tool_call_id)

    assert said == {"error": "tool call not found"}
    assert answered == Answered("q1", answered.text)


@pytest.mark.parametrize("name", [STATUS, CANCEL])
async def test_a_call_of_another_session_is_not_found(name: str, asks: Asking, store: redis.Redis) -> None:
    other = Scene(store, sid="s2")
    other.owned()
    other.running(TWO)

    said, _ = await asks.answer(name, tool_call_id=TWO)

    assert said == {"error": "tool call not found"}
    assert other.state(TWO) == "running"
    assert "wish" not in other.fields(TWO)


# ---- list-running-tool-calls


async def test_the_list_has_every_call_that_is_not_final_oldest_first(asks: Asking) -> None:
    claimed = asks.scene.running(ONE)
    asks.scene.run(attempts.progress(claimed, '{"line":"half way"}'))
    asks.scene.queued(TWO, provider_id="p2", tool="stubborn", call_policy=policy(cancellable=False))
    asks.tracks(ONE)
    asks.tracks(TWO, "p2")
    asks.scene.ended(cid="c3", token="a3")
    asks.tracks("c3", "p3")  # its end is not known here yet

    listed, _ = await asks.answer(RUNNING)

    first, second = listed["running"]
    assert first.pop("started_at").endswith("Z")
    assert first == {
        "tool_call_id": "p1", "tool_name": "work", "status": "running", "progress": {"line": "half way"},
        "cancellable": True,
    }  # fmt: skip
    assert second == {
        "tool_call_id": "p2", "tool_name": "stubborn", "status": "pending", "started_at": None, "progress": None,
        "cancellable": False,
    }  # fmt: skip


async def test_the_list_of_nothing_is_empty(asks: Asking) -> None:
    assert (await asks.answer(RUNNING))[0] == {"running": []}


# ---- cancel-tool-call


async def test_a_call_that_nobody_runs_is_cancelled_at_once(asks: Asking) -> None:
    asks.scene.queued(ONE)
    asks.tracks(ONE)

    begun = await asks.begin(CANCEL, tool_call_id="p1", reason="not needed")
    said, answered = await asks.answer(CANCEL, tool_call_id="p1", reason="not needed")

    assert begun == Begun("q1")
    assert said == {
        "tool_call_id": "p1", "cancelled": True, "previous_status": "pending", "status": "cancelled"
    }  # fmt: skip
    assert answered.stopped == (ONE,)
    assert (asks.scene.fields(ONE)["by"], asks.scene.fields(ONE)["reason"]) == ("model", "not needed")
    assert asks.nudged == []


async def test_a_running_call_is_asked_through_its_worker_and_waited_for(asks: Asking) -> None:
    asks.scene.running(ONE)
    asks.tracks(ONE)

    begun = await asks.begin(CANCEL, tool_call_id="p1")

    assert begun == Begun("q1", (ONE,), NOW + CONFIRM_MS)
    assert asks.nudged == [ONE]
    assert asks.scene.run(workers.beat("w1", {})).wishes == {ONE: "cancel"}


async def test_a_cancel_that_the_worker_confirmed_says_so(asks: Asking) -> None:
    claimed = asks.scene.running(ONE)
    asks.tracks(ONE)
    await asks.begin(CANCEL, tool_call_id="p1")
    asks.scene.run(attempts.finish(claimed, HOLDER, QUEUE, Outcome(state=CallState.CANCELLED)))

    said, answered = await asks.answer(CANCEL, tool_call_id="p1")

    assert (said["cancelled"], said["previous_status"], said["status"]) == (True, "running", "cancelled")
    assert "cancel_requested" not in said
    assert answered.stopped == (ONE,)


async def test_a_cancel_that_nobody_confirmed_in_time_says_that_it_is_only_asked_for(asks: Asking) -> None:
    asks.scene.running(ONE)
    asks.tracks(ONE)
    await asks.begin(CANCEL, tool_call_id="p1")

    said, answered = await asks.answer(CANCEL, tool_call_id="p1")

    assert said == {
        "tool_call_id": "p1", "cancelled": False, "previous_status": "running", "status": "running",
        "cancel_requested": True,
    }  # fmt: skip
    assert answered.stopped == ()


async def test_a_cancel_that_met_a_call_which_completed_first_is_a_normal_answer(asks: Asking) -> None:
    claimed = asks.scene.running(ONE)
    asks.tracks(ONE)
    await asks.begin(CANCEL, tool_call_id="p1")
    asks.scene.run(attempts.finish(claimed, HOLDER, QUEUE, DONE))

    said, answered = await asks.answer(CANCEL, tool_call_id="p1")

    assert (said["cancelled"], said["previous_status"], said["status"]) == (False, "running", "completed")
    assert answered.stopped == ()


async def test_the_same_question_after_a_takeover_has_the_same_answer_and_another_one_its_own(asks: Asking) -> None:
    asks.scene.queued(ONE)
    asks.tracks(ONE)

    first = [(await asks.begin(CANCEL, tool_call_id="p1")), (await asks.answer(CANCEL, tool_call_id="p1"))[0]]
    again = [(await asks.begin(CANCEL, tool_call_id="p1")), (await asks.answer(CANCEL, tool_call_id="p1"))[0]]
    other, _ = await asks.answer(CANCEL, tool_call_id="p1", asker="q2")

    assert first == again
    assert (other["cancelled"], other["previous_status"]) == (False, "cancelled")


async def test_a_tool_that_cannot_be_stopped_is_not_asked_to(asks: Asking) -> None:
    asks.scene.running(ONE, tool="stubborn", call_policy=policy(cancellable=False))
    asks.tracks(ONE)

    begun = await asks.begin(CANCEL, tool_call_id="p1")
    said, answered = await asks.answer(CANCEL, tool_call_id="p1")

    assert begun == Begun("q1")
    assert said == {
        "tool_call_id": "p1", "cancelled": False, "previous_status": "running", "status": "running",
        "message": "this tool call cannot be stopped",
    }  # fmt: skip
    assert answered.stopped == ()
    assert "wish" not in asks.scene.fields(ONE)


async def test_the_reason_of_a_cancel_is_short_and_one_line_wherever_it_is_kept(asks: Asking) -> None:
    asks.scene.queued(ONE)
    asks.tracks(ONE)

    await asks.begin(CANCEL, tool_call_id="p1", reason="one\ntwo\x1b[31m" + "x" * 1000)

    [event] = cast("Any", asks.scene.store.xrevrange(keys.events("s1"), count=1))
    assert event[1]["reason"].startswith("one two")
    assert len(event[1]["reason"]) == 200


# ---- through the loop


async def test_a_model_waits_for_its_call_cancels_another_and_lists_what_runs(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    sid = await begin(astore, asyncYieldStrategy={"tag": "yieldOnTimeout", "milliseconds": 0}, maxConcurrency=2)

    def answer(messages: Sequence[SeenMessage]) -> Reply:
        match sum(message.role == "assistant" for message in messages):
            case 0:
                return asking(call("slow", "a", x=1), call("slow", "b", x=2), call("slow", "c", x=3))
            case 1:
                return asking(
                    call(STATUS, "q1", tool_call_id="a", wait_for_completion=True, timeout_seconds=30),
                    call(CANCEL, "q2", tool_call_id="c"),
                    call(RUNNING, "q3"),
                )
            case _:
                return Reply("done")

    async with fake_worker(settings, "slow", tool=gated) as worker, orchestrating(settings, answer):
        await event_came(astore, sid, "turn.completed", 2)
        await event_came(astore, sid, "tool_call.cancelled")
        worker.end('{"x":1}', done("the first"))
        await event_came(astore, sid, "turn.completed", 3)
        worker.end('{"x":2}', done("the second"))
        await run_ended(astore, sid)

    tools = [entry for entry in await log_of(astore, sid) if isinstance(entry, ToolsEntry)]
    status, cancel, running = (orjson.loads(message.text) for message in tools[1].messages)
    assert (status["status"], status["result"]) == ("completed", "the first")
    assert (cancel["cancelled"], cancel["previous_status"]) == (True, "pending")
    assert [one["tool_call_id"] for one in running["running"]] == ["b"]
    assert (await shown(astore, sid)).count("the first") == 1
    assert (await shown(astore, sid)).count("the second") == 1
    assert await faults_of(astore, sid) == []
