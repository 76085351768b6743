"""A model endpoint that fails: what is tried again, when the run is paused, and how it goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import redis.asyncio
from structlog.testing import capture_logs
from tests.integration.errand import (
    begin,
    call,
    calls,
    event_came,
    events_of,
    faults_of,
    leftovers,
    log_of,
    orchestrating,
    run_ended,
    shown,
)
from tests.integration.fake_worker import done, fake_worker, gated
from tests.waiting import aeventually

from errands_config.errors import ModelError
from errands_config.settings import Settings
from errands_orchestrator import sessions
from errands_orchestrator.models.model import Reply
from errands_orchestrator.models.seen import SeenMessage
from errands_orchestrator.session import AssistantEntry


@dataclass
class Failing:
    """A model that raises these, one a request, and answers afterwards."""

    errors: list[Exception]
    asked: list[Sequence[SeenMessage]] = field(default_factory=list[Sequence[SeenMessage]])

    def __call__(self, messages: Sequence[SeenMessage]) -> Reply:
        self.asked.append(messages)
        if self.errors:
            raise self.errors.pop(0)
        return Reply("at last")


def busy() -> ModelError:
    return ModelError("the endpoint is busy", cause="rate limited", retryable=True)


async def has_status(store: redis.asyncio.Redis, sid: str, status: str) -> bool:
    return await sessions.status_of(store, sid) == status


async def test_a_request_that_failed_for_a_moment_is_sent_again_unchanged(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    sid = await begin(astore)
    model = Failing([busy(), busy()])

    async with orchestrating(settings, model):
        await run_ended(astore, sid)

    assert model.asked == [model.asked[0]] * 3
    assert [event["cause"] for event in await events_of(astore, sid, "turn.failed")] == ["rate limited"] * 2
    moments = [int(event["at"]) for event in await events_of(astore, sid) if event["kind"].startswith("turn.")]
    assert 400 <= moments[2] - moments[1] <= 1200  # the first retry comes after half a second, not with the next look
    assert await leftovers(astore) == {}


async def test_a_message_that_comes_during_a_retry_waits_for_the_next_request(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    sid = await begin(astore)
    model = Failing([busy()])

    async with orchestrating(settings, model):
        await event_came(astore, sid, "turn.failed")
        await sessions.send(astore, sid, "one more thing")
        await run_ended(astore, sid)
        await event_came(astore, sid, "turn.completed", 2)

    assert model.asked[0] == model.asked[1]
    assert model.asked[2][-1].text == "one more thing"


async def test_a_request_that_cannot_succeed_pauses_the_run_and_resume_sends_it_again(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    sid = await begin(astore)
    model = Failing([ModelError("wrong key", cause="unauthorized", retryable=False)])

    async with orchestrating(settings, model):
        await event_came(astore, sid, "run.paused")
        await aeventually(lambda: has_status(astore, sid, "paused"))
        assert (await sessions.row(astore, sid)).cause == "unauthorized"
        assert await leftovers(astore) == {}

        await sessions.control(astore, sid, "resume")
        await run_ended(astore, sid)

    assert model.asked == [model.asked[0]] * 2
    assert [entry.text for entry in await log_of(astore, sid) if isinstance(entry, AssistantEntry)] == ["at last"]


async def test_calls_of_a_paused_run_go_on_and_their_results_are_told_after_it_is_resumed(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    sid = await begin(astore, asyncYieldStrategy={"tag": "yieldOnTimeout", "milliseconds": 0})
    broken = [ModelError("gone", cause="endpoint gone", retryable=False)]

    def answer(messages: Sequence[SeenMessage]) -> Reply:
        if len(messages) == 2:
            return calls(call("slow", "late", x=1))
        if broken:
            raise broken.pop()
        return Reply("done")

    async with fake_worker(settings, "slow", tool=gated) as worker, orchestrating(settings, answer):
        await event_came(astore, sid, "run.paused")
        worker.end('{"x":1}', done("came while it was paused"))
        await event_came(astore, sid, "tool_call.completed")
        await aeventually(lambda: has_status(astore, sid, "paused"))
        assert "came while" not in await shown(astore, sid)

        await sessions.control(astore, sid, "resume")
        await run_ended(astore, sid)

    assert (await shown(astore, sid)).count("came while it was paused") == 1
    assert await faults_of(astore, sid) == []
    assert await leftovers(astore) == {}


async def test_a_fault_of_our_own_pauses_the_run_and_shows_nothing_of_what_it_met(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    sid = await begin(astore)
    model = Failing([ValueError("secret of the user")])

    with capture_logs() as lines:
        async with orchestrating(settings, model):
            await event_came(astore, sid, "run.paused")
            await aeventually(lambda: has_status(astore, sid, "paused"))
            assert (await sessions.row(astore, sid)).cause == "internal error: ValueError"

            await sessions.control(astore, sid, "resume")
            await run_ended(astore, sid)

    assert [line["event"] for line in lines if "broken" in line["event"]] == ["session.broken"]
    assert "secret" not in str(lines)


async def test_a_pause_and_resume_between_two_orchestrators_keeps_the_committed_request(
    settings: Settings, astore: redis.asyncio.Redis
) -> None:
    sid = await begin(astore)
    first, second = Failing([ModelError("gone", cause="gone", retryable=False)]), Failing([])

    async with orchestrating(settings, first):
        await event_came(astore, sid, "run.paused")
        await aeventually(lambda: has_status(astore, sid, "paused"))
    await sessions.control(astore, sid, "resume")
    async with orchestrating(settings, second):
        await run_ended(astore, sid)

    assert second.asked == first.asked
