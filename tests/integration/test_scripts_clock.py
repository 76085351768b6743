"""A store whose clock went back: whatever stands at a moment that lies too far ahead is looked at all the same."""

from __future__ import annotations

from typing import cast

import pytest
import redis
from tests.integration.script_scenes import HOLDER, LEASE_MS, QUEUE, Scene

from errands_config import keys
from errands_config.scripts import attempts, calls, sessions, workers
from errands_config.scripts.sessions import Acquired
from errands_config.wire import Claimed

YEAR_MS = 365 * 24 * 3600 * 1000
LONGEST_SLEEP_MS = 600_000


@pytest.fixture
def scene(store: redis.Redis) -> Scene:
    return Scene(store)


def now(scene: Scene) -> int:
    seconds, micros = scene.store.time()
    return seconds * 1000 + micros // 1000


def moved_ahead(scene: Scene, key: str, member: str) -> None:
    """As if it had been written a year ahead of the store's clock."""
    score = cast("float", scene.store.zscore(key, member))
    scene.store.zadd(key, {member: score + YEAR_MS})


def test_a_parked_session_whose_timer_lies_beyond_belief_is_taken(scene: Scene) -> None:
    got = scene.owned()
    scene.committed(cursor=got.mail[-1].seq)
    scene.run(sessions.park("s1", "t1", sessions.Rest("waiting_calls", now(scene) + 1000), LEASE_MS))
    moved_ahead(scene, keys.DUE, "s1")

    assert scene.run(sessions.peek(10)).members == ("s1",)
    assert isinstance(scene.run(scene.acquire("t2")), Acquired)


def test_a_session_of_a_dead_owner_whose_lease_lies_beyond_belief_is_taken(scene: Scene) -> None:
    scene.owned()
    moved_ahead(scene, keys.DUE, "s1")

    assert scene.run(sessions.peek(10)).members == ("s1",)
    assert isinstance(scene.run(scene.acquire("t2")), Acquired)


def test_mail_wakes_a_session_whatever_its_score(scene: Scene) -> None:
    scene.owned()
    moved_ahead(scene, keys.DUE, "s1")
    scene.store.delete(keys.BELL)

    scene.run(sessions.send_mail("s1", "m1", "userMessage", "hi"))

    assert scene.store.llen(keys.BELL) == 1
    assert cast("float", scene.store.zscore(keys.DUE, "s1")) <= now(scene)


def test_no_timer_keeps_a_session_unseen_for_longer_than_the_longest_sleep(scene: Scene) -> None:
    got = scene.owned()
    scene.committed(cursor=got.mail[-1].seq)

    scene.run(sessions.park("s1", "t1", sessions.Rest("waiting_calls", now(scene) + YEAR_MS), LEASE_MS))

    assert 0 < cast("float", scene.store.zscore(keys.DUE, "s1")) - now(scene) <= LONGEST_SLEEP_MS
    assert scene.run(sessions.peek(10)).members == ()


def test_a_call_with_long_limits_is_looked_at_meanwhile_and_left_alone(scene: Scene) -> None:
    scene.owned()
    scene.queued()
    assert 0 < cast("float", scene.store.zscore(keys.WATCH, "c1")) - now(scene) <= LONGEST_SLEEP_MS
    scene.store.zadd(keys.WATCH, {"c1": 1})

    answer = scene.run(calls.overdue(scene.place(), offered=True))

    assert (answer.outcome, scene.state()) == ("early", "queued")
    assert cast("float", scene.store.zscore(keys.WATCH, "c1")) > now(scene)


def test_a_queued_call_from_ahead_of_the_clock_gets_its_whole_time_and_no_more(scene: Scene) -> None:
    scene.owned()
    scene.queued()
    scene.store.hincrby(keys.call("c1"), "queued_at", YEAR_MS)
    moved_ahead(scene, keys.WATCH, "c1")
    assert scene.run(sessions.peek(10, keys.WATCH)).members == ("c1",)

    assert scene.run(calls.overdue(scene.place(), offered=True)).outcome == "early"

    assert int(scene.fields()["queued_at"]) <= now(scene)
    assert scene.run(sessions.peek(10, keys.WATCH)).members == ()
    scene.long_ago()
    assert scene.run(calls.overdue(scene.place(), offered=True)).outcome == "ended"


def test_a_running_call_from_ahead_of_the_clock_gets_its_whole_time_and_no_more(scene: Scene) -> None:
    scene.owned()
    scene.running()
    scene.store.hincrby(keys.call("c1"), "deadline", YEAR_MS)
    moved_ahead(scene, keys.WATCH, "c1")

    assert scene.run(calls.overdue(scene.place(), offered=True)).outcome == "early"

    assert int(scene.fields()["deadline"]) <= now(scene) + 600_000
    scene.long_ago()
    assert scene.run(calls.overdue(scene.place(), offered=True)).outcome == "asked"


def test_a_deferred_call_with_a_long_time_is_looked_at_meanwhile_and_left_alone(scene: Scene) -> None:
    scene.owned()
    scene.born_deferred()
    assert 0 < cast("float", scene.store.zscore(keys.WATCH, "c1")) - now(scene) <= LONGEST_SLEEP_MS
    scene.store.zadd(keys.WATCH, {"c1": 1})

    answer = scene.run(calls.overdue(scene.place(), offered=True))

    assert (answer.outcome, scene.state()) == ("early", "deferred")
    assert 0 < cast("float", scene.store.zscore(keys.WATCH, "c1")) - now(scene) <= LONGEST_SLEEP_MS


def test_a_deferred_call_from_ahead_of_the_clock_gets_its_whole_time_and_no_more(scene: Scene) -> None:
    scene.owned()
    scene.deferred("tool")
    scene.store.hincrby(keys.call("c1"), "deferred_at", YEAR_MS)
    moved_ahead(scene, keys.WATCH, "c1")
    assert scene.run(sessions.peek(10, keys.WATCH)).members == ("c1",)

    assert scene.run(calls.overdue(scene.place(), offered=True)).outcome == "early"

    assert int(scene.fields()["deferred_at"]) <= now(scene)
    assert scene.run(sessions.peek(10, keys.WATCH)).members == ()
    scene.long_ago()
    assert scene.run(calls.overdue(scene.place(), offered=True)) == calls.OverdueAnswer("ended", "expired")


def test_a_deferred_call_whose_time_passed_while_the_clock_leapt_ahead_expires(scene: Scene) -> None:
    scene.owned()
    scene.deferred("hook")
    scene.store.hincrby(keys.call("c1"), "deferred_at", -YEAR_MS)
    scene.store.zadd(keys.WATCH, {"c1": 1})

    assert scene.run(calls.overdue(scene.place(), offered=True)) == calls.OverdueAnswer("ended", "expired")


def test_a_lost_message_from_ahead_of_the_clock_is_published_again(scene: Scene) -> None:
    scene.owned()
    scene.queued()
    scene.store.delete(QUEUE)
    moved_ahead(scene, keys.queued(QUEUE), "c1")
    scene.store.hset(keys.queue_marks(QUEUE), mapping={"claimed_upto": now(scene) + YEAR_MS, "empty_since": 1})

    answers = [scene.run(calls.repeat("c1", QUEUE, patience_ms=0)) for _ in range(3)]

    assert any(answers)
    assert int(cast("str", scene.store.hget(keys.queue_marks(QUEUE), "claimed_upto"))) <= now(scene)


def test_a_newest_claim_from_ahead_of_the_clock_repeats_no_healthy_backlog(scene: Scene) -> None:
    scene.owned()
    scene.queued()
    scene.store.hset(keys.queue_marks(QUEUE), "claimed_upto", now(scene) + YEAR_MS)

    assert scene.run(calls.repeat("c1", QUEUE)) is None


def test_a_claim_of_a_message_from_ahead_of_the_clock_counts_as_one_of_now(scene: Scene) -> None:
    scene.owned()
    message = scene.queued()
    scene.run(workers.beat("w1", {}))

    got = scene.run(attempts.claim(message.model_copy(update={"published": now(scene) + YEAR_MS}), "a1", HOLDER))

    assert isinstance(got, Claimed)
    assert int(cast("str", scene.store.hget(keys.queue_marks(QUEUE), "claimed_upto"))) <= now(scene)


def test_a_beat_from_ahead_of_the_clock_is_settled_as_it_was_watched(scene: Scene) -> None:
    scene.run(workers.beat("w1", {}))
    moved_ahead(scene, keys.WORKERS, "w1")

    assert scene.run(workers.settle("w1", f"{cast('float', scene.store.zscore(keys.WORKERS, 'w1')):.0f}")) == "settled"


def test_spans_in_events_are_never_negative(scene: Scene) -> None:
    scene.owned()
    claimed = scene.running()
    scene.store.hincrby(keys.call("c1"), "started_at", YEAR_MS)

    scene.run(attempts.finish(claimed, HOLDER, QUEUE, attempts.Outcome(state="completed")))  # pyright: ignore[reportArgumentType]

    [ended] = [
        fields
        for _, fields in cast("list[tuple[str, dict[str, str]]]", scene.store.xrange(keys.events("s1")))
        if fields["kind"] == "tool_call.completed"
    ]
    assert ended["elapsed_ms"] == "0"
