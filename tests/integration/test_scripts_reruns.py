"""What becomes of a call whose worker is lost: started again where that is safe, given up where it does harm."""

from __future__ import annotations

from typing import Any

import pytest
import redis
from tests.integration.script_scenes import DONE, HOLDER, QUEUE, Scene, cancelling, policy

from errands_config import keys
from errands_config.scripts import attempts, calls
from errands_config.scripts.attempts import ClaimRefused
from errands_config.wire import Claimed, Outcome
from errands_orchestrator.dispatcher import repeated_publication


@pytest.fixture
def scene(store: redis.Redis) -> Scene:
    made = Scene(store)
    made.owned()
    return made


def settled(scene: Scene, **more: Any) -> str:
    return scene.run(calls.settle_call(scene.place(), HOLDER.worker, reason="its worker was lost", **more))


def claimed_again(scene: Scene, attempt: int) -> Claimed:
    claimed = scene.run(attempts.claim(scene.message(attempt=attempt), f"a{attempt}", HOLDER))
    assert isinstance(claimed, Claimed)
    return claimed


def test_a_marked_call_goes_back_to_its_queue_for_its_next_attempt(scene: Scene) -> None:
    scene.running(call_policy=policy(rerun_times=1))

    assert settled(scene) == "queued"

    kept = scene.fields()
    assert (kept["state"], kept["attempt"], "worker" in kept, "token" in kept) == ("queued", "2", False, False)
    assert scene.store.zscore(keys.queued(QUEUE), "c1") == 0
    assert scene.traces() == ["queued", "watch"]
    assert scene.ends() == []
    assert scene.completion_letters() == []


def test_its_message_is_published_at_once_under_the_id_of_the_attempt(scene: Scene) -> None:
    scene.running(call_policy=policy(rerun_times=1))
    settled(scene)

    first = scene.run(calls.repeat("c1", QUEUE))
    second = scene.run(calls.repeat("c1", QUEUE))

    assert first
    assert repeated_publication(first).celery_id == "c1.2"
    assert repeated_publication(first).body.attempt == 2
    assert second is None


def test_the_first_attempts_message_and_writes_are_void_once_the_second_is_due(scene: Scene) -> None:
    first = scene.running(call_policy=policy(rerun_times=1))
    settled(scene)

    assert isinstance(scene.run(attempts.claim(scene.message(attempt=1), "a9", HOLDER)), ClaimRefused)
    assert scene.run(attempts.progress(first, "{}")) == "lost"
    assert scene.run(attempts.finish(first, HOLDER, QUEUE, Outcome(state="completed"))).outcome == "lost"  # pyright: ignore[reportArgumentType]
    assert scene.fields()["late"] == "1"
    assert scene.state() == "queued"


def test_a_call_is_started_again_as_often_as_it_is_marked_and_then_orphaned(scene: Scene) -> None:
    scene.running(call_policy=policy(rerun_times=2))

    assert settled(scene) == "queued"
    claimed_again(scene, 2)
    assert settled(scene) == "queued"
    claimed_again(scene, 3)
    assert settled(scene) == "orphaned"
    assert scene.completion_letters()[0]["starts"] == "3"


def test_a_call_that_was_to_be_cancelled_is_not_started_again(scene: Scene) -> None:
    scene.running(call_policy=policy(rerun_times=1))
    scene.run(cancelling(scene.place()))

    assert settled(scene) == "cancelled"


def test_a_call_past_its_deadline_is_not_started_again(scene: Scene) -> None:
    scene.running(call_policy=policy(rerun_times=1))
    scene.long_ago()

    assert settled(scene) == "timed_out"


def test_a_call_that_loses_its_process_again_and_again_fails_with_the_cause(scene: Scene) -> None:
    scene.running(call_policy=policy(rerun_times=100))

    for attempt in range(2, calls.MOST_LOST + 1):
        assert settled(scene) == "queued"
        claimed_again(scene, attempt)
    assert settled(scene) == "failed"

    assert scene.fields()["error"] == "given up after 5 attempts: each time its worker was lost"
    assert scene.fields()["error_kind"] == "lost its process"


def test_a_worker_that_was_told_to_go_is_not_held_against_its_calls(scene: Scene) -> None:
    scene.running(call_policy=policy(rerun_times=100))

    for attempt in range(2, calls.MOST_LOST + 3):
        assert settled(scene, drained=True) == "queued"
        claimed_again(scene, attempt)

    assert scene.state() == "running"


def test_the_lost_attempt_cannot_end_the_one_that_runs_now(scene: Scene) -> None:
    first = scene.running(call_policy=policy(rerun_times=1))
    settled(scene)
    second = claimed_again(scene, 2)

    assert scene.run(attempts.finish(first, HOLDER, QUEUE, DONE)).outcome == "lost"
    assert scene.state() == "running"
    assert scene.run(attempts.finish(second, HOLDER, QUEUE, DONE)).outcome == "ok"
    assert scene.completion_letters()[0]["starts"] == "2"
