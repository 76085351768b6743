"""Calls that wait for somebody outside: what their records, events and mail say, and what an answer does."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
import redis
from tests.integration.script_scenes import (
    DONE,
    HOLDER,
    LONGEST_WAIT,
    QUEUE,
    Kind,
    Scene,
    cancelling,
    deferring,
    policy,
)

from errands_config import keys
from errands_config.arguments_digest import arguments_digest
from errands_config.scripts import attempts, calls, sessions, workers
from errands_config.scripts.attempts import ClaimRefused
from errands_config.scripts.deferred import Edited, OutsideAnswer, approve, complete, defer, deferral_fields
from errands_config.scripts.letters import read_mail
from errands_config.scripts.sessions import Acquired
from errands_config.wire import Approval, CallState, Claimed, Deferral, Outcome, SharedLimit

SHOWN = '{"env":"prod","n":[1,2]}'


@pytest.fixture
def scene(store: redis.Redis) -> Scene:
    scene = Scene(store)
    scene.owned()
    scene.run(workers.beat("w1", {}))
    return scene


def claim(scene: Scene, attempt: int, token: str = "", queue: str = QUEUE) -> Claimed:
    message = scene.message(attempt=attempt).model_copy(update={"queue": queue})
    claimed = scene.run(attempts.claim(message, token or f"a{attempt}", HOLDER))
    assert isinstance(claimed, Claimed)
    return claimed


def leave(scene: Scene, nonce: int = 1, edited: Edited | None = None, shown: str = "{}") -> None:
    assert scene.run(approve(scene.place(), nonce, shown, edited)) == OutsideAnswer("ok", "queued")


def events(scene: Scene, kind: str) -> list[dict[str, str]]:
    found = cast("list[tuple[str, dict[str, str]]]", scene.store.xrange(keys.events(scene.sid)))
    return [fields for _, fields in found if fields["kind"] == kind]


# ---- how a call comes to wait


def test_a_call_that_is_born_deferred_is_published_to_nobody_and_has_not_started(scene: Scene) -> None:
    scene.born_deferred(call_policy=policy(label="deploy"), label="deploy")

    record = scene.fields()
    assert (record["state"], record["nonce"], record["starts"], record["defer_kind"]) == (
        "deferred",
        "1",
        "0",
        "policy",
    )
    assert scene.traces() == ["watch"]
    assert scene.store.llen(QUEUE) == 0
    [told] = events(scene, "tool_call.deferred")
    assert (told["tool_call_id"], told["attempt"], told["label"]) == ("c1", "1", "deploy")


def test_a_call_that_is_born_with_its_end_says_its_label(scene: Scene) -> None:
    scene.waiting(state="failed", error="x", label="deploy")

    assert [one["label"] for one in events(scene, "tool_call.failed")] == ["deploy"]


@pytest.mark.parametrize(("kind", "starts"), [("hook", "0"), ("tool", "1")])
def test_what_a_hook_defers_has_not_started_and_what_the_tool_defers_has(kind: Kind, starts: str, scene: Scene) -> None:
    scene.deferred(kind)

    assert scene.fields()["starts"] == starts
    assert scene.traces() == ["watch"]
    assert [letter["kind"] for letter in scene.letters()[1:]] == ["toolCallDeferred"]


def test_a_call_waits_as_long_as_it_was_asked_to_and_no_longer_than_it_may(scene: Scene) -> None:
    def kept(seconds: float | None) -> int:
        return int(deferral_fields(Deferral(kind="tool", expires_seconds=seconds), LONGEST_WAIT)["expires_ms"])

    assert (kept(None), kept(1.5), kept(10 * LONGEST_WAIT)) == (LONGEST_WAIT * 1000, 1500, LONGEST_WAIT * 1000)
    claimed = scene.running()
    why = Deferral(kind="tool", expires_seconds=10 * LONGEST_WAIT)
    scene.run(defer(claimed, HOLDER, QUEUE, why, LONGEST_WAIT))
    assert scene.fields()["expires_ms"] == str(LONGEST_WAIT * 1000)


def test_a_sweeper_looks_at_a_deferred_call_at_the_end_of_its_time_and_not_at_its_deadline(scene: Scene) -> None:
    claimed = scene.running(call_policy=policy(timeout_seconds=300.0))
    began = cast("float", scene.store.zscore(keys.WATCH, "c1"))

    scene.run(deferring(claimed, "tool", expires_seconds=60))

    assert 230_000 < began - cast("float", scene.store.zscore(keys.WATCH, "c1")) <= 245_000


def test_neither_events_nor_letters_of_a_deferral_hold_what_it_is_about(scene: Scene) -> None:
    claimed = scene.running(arguments='{"password":"hunter2"}')
    scene.run(deferring(claimed, reason="hunter2 looks weak", arguments='{"password":"hunter2","n":1}'))
    leave(scene, shown='{"password":"hunter2","n":1}')

    record = scene.fields()
    assert (record["defer_reason"], record["defer_hook"]) == ("hunter2 looks weak", "command ask")
    told: list[Any] = [scene.store.xrange(key) for key in (keys.events(scene.sid), keys.EVENTS, keys.mail(scene.sid))]
    assert "hunter2" not in str(told)


def test_a_deferral_that_comes_again_after_the_next_attempt_began_is_known(scene: Scene) -> None:
    first = scene.deferred("hook")
    leave(scene)
    claim(scene, 2)

    again = scene.run(deferring(first))

    assert (again.outcome, again.detail, scene.state()) == ("ok", "1", "running")


def test_a_call_that_was_asked_to_end_ends_and_is_not_deferred(scene: Scene) -> None:
    claimed = scene.running()
    scene.run(cancelling(scene.place()))

    answers = [scene.run(deferring(claimed)) for _ in range(2)]

    assert [(one.outcome, one.detail) for one in answers] == [("late", "cancelled")] * 2
    assert (scene.ends(), scene.traces(), scene.fields().get("late")) == (["cancelled"], [], None)
    assert "nonce" not in scene.fields()


def test_a_worker_that_is_lost_after_it_deferred_a_call_loses_nothing_of_it(scene: Scene) -> None:
    scene.deferred("tool")
    scene.run(workers.settle("w1"))

    assert scene.run(calls.settle_call(scene.place(), "w1")) == ""

    assert (scene.state(), scene.traces()) == ("deferred", ["watch"])


def test_a_call_that_was_over_its_deadline_as_it_was_deferred_waits_without_that_wish(scene: Scene) -> None:
    claimed = scene.running()
    scene.long_ago()
    scene.run(calls.overdue(scene.place(), offered=True))

    scene.run(deferring(claimed, "tool"))

    assert scene.traces() == ["watch"]
    assert scene.run(calls.overdue(scene.place(), offered=True)).outcome == "early"


# ---- leave to run


def test_a_worker_hears_of_every_leave_that_was_given_and_a_lost_process_takes_none_back(scene: Scene) -> None:
    claimed = scene.running(arguments=SHOWN, call_policy=policy(rerun_times=1))
    scene.run(deferring(claimed, "hook"))
    leave(scene, shown=SHOWN)
    scene.run(deferring(claim(scene, 2), "hook", hook="tool second", arguments='{"n":2}'))
    leave(scene, 2, shown='{"n":2}')
    claim(scene, 3)
    assert scene.run(calls.settle_call(scene.place(), "w1")) == "queued"

    again = claim(scene, 4)

    assert again.approved == (
        Approval(hook="command ask", digest=arguments_digest(SHOWN)),
        Approval(hook="tool second", digest=arguments_digest('{"n":2}')),
    )
    assert (again.arguments, scene.fields()["starts"]) == (SHOWN, "2")


def test_a_message_from_before_the_leave_is_void(scene: Scene) -> None:
    message = scene.queued()
    claimed = scene.run(attempts.claim(message, "a1", HOLDER))
    assert isinstance(claimed, Claimed)
    scene.run(deferring(claimed))
    leave(scene)

    assert scene.run(attempts.claim(message, "another", HOLDER)) == ClaimRefused("refused", "queued")


def test_what_has_leave_is_published_by_the_next_sweep_and_is_lost_like_any_other(scene: Scene) -> None:
    scene.deferred("hook")
    scene.store.delete(keys.SWEEP)
    leave(scene)

    assert scene.store.llen(keys.SWEEP) == 1
    republished = scene.run(calls.repeat("c1", QUEUE))
    assert republished
    assert (republished.attempt, republished.count) == (2, 1)
    claim(scene, 2)
    assert scene.run(calls.settle_call(scene.place(), "w1")) == "orphaned"


def test_the_same_arguments_in_another_order_are_the_same_leave(scene: Scene) -> None:
    scene.deferred("hook", arguments=SHOWN)
    leave(scene, shown=SHOWN)

    assert scene.run(approve(scene.place(), 1, '{"n": [1, 2], "env": "prod"}')).outcome == "again"
    assert scene.run(approve(scene.place(), 1, '{"env":"prod","n":[2,1]}')).outcome == "conflict"


def test_leave_at_one_deferral_is_no_leave_at_the_next(scene: Scene) -> None:
    scene.deferred("hook")
    leave(scene)
    scene.run(deferring(claim(scene, 2), "hook"))
    assert scene.state() == "deferred"
    leave(scene, 2)
    scene.run(deferring(claim(scene, 3), "hook"))
    scene.run(cancelling(scene.place()))

    assert scene.run(approve(scene.place(), 3, "{}")) == OutsideAnswer("gone", "cancelled")


def test_edited_arguments_bring_their_own_policy_queue_limits_and_label(scene: Scene) -> None:
    under = policy(timeout_seconds=7.0, limits=(SharedLimit(name="gpu", concurrency=1),), label="careful")
    scene.born_deferred(label="deploy")
    edited = Edited('{"dry_run":true}', under, "slow")

    leave(scene, edited=edited)

    assert scene.store.zscore(keys.queued("slow"), "c1") == 0
    assert scene.store.zscore(keys.queued(QUEUE), "c1") is None
    assert scene.store.sismember(keys.QUEUES, "slow")
    assert [one.get("label") for one in events(scene, "tool_call.queued")] == ["careful"]
    claimed = claim(scene, 2, queue="slow")
    assert (claimed.arguments, claimed.policy) == ('{"dry_run":true}', under)
    assert claimed.approved == (Approval(hook="", digest=arguments_digest('{"dry_run":true}')),)
    assert scene.run(attempts.finish(claimed, HOLDER, "slow", DONE)).outcome == "ok"
    assert scene.store.zcard(keys.limit("gpu")[0]) == 0
    assert scene.run(approve(scene.place(), 1, "{}", edited)).outcome == "again"
    assert scene.run(approve(scene.place(), 1, "{}")).outcome == "conflict"


def test_who_saw_a_call_in_another_queue_than_its_edited_one_looks_again(scene: Scene) -> None:
    scene.born_deferred()
    seen = scene.place()
    leave(scene, edited=Edited('{"x":1}', policy(), "slow"))

    assert scene.run(cancelling(seen)).outcome == "moved"
    assert scene.run(cancelling(scene.place())).outcome == "cancelled"
    assert scene.store.zcard(keys.queued("slow")) == 0


@pytest.mark.parametrize("kind", ["tool", "question"])
def test_what_waits_for_a_result_takes_no_leave(kind: Kind, scene: Scene) -> None:
    scene.deferred(kind)

    assert scene.run(approve(scene.place(), 1, "{}")) == OutsideAnswer("unfit", "deferred")
    assert "answer" not in scene.fields()


# ---- an end from outside


def test_an_end_from_outside_is_told_like_that_of_any_call_and_wakes_its_session(scene: Scene) -> None:
    scene.born_deferred()
    scene.committed(cursor=scene.run(sessions.park("s1", "t1", sessions.Rest("waiting_external"), 1000)).mail[-1].seq)
    assert scene.run(sessions.park("s1", "t1", sessions.Rest("waiting_external"), 1000)).outcome == "parked"
    outcome = Outcome(state=CallState.COMPLETED, result='{"ok":true}', result_type="json")

    scene.run(complete(scene.place(), 1, outcome))

    woken = scene.run(sessions.acquire(scene.sid, "t2", "errands:owner:o2", 1000))
    assert isinstance(woken, Acquired)
    [letter] = woken.mail
    assert (letter.kind, letter.outcome, letter.starts) == ("toolCallFinished", outcome, 0)


def test_a_result_from_outside_that_is_too_large_for_mail_stands_in_the_record(scene: Scene) -> None:
    scene.born_deferred()
    large = Outcome(state=CallState.COMPLETED, result="é" * attempts.MAIL_INLINE_BYTES)

    assert scene.run(complete(scene.place(), 1, large)).outcome == "ok"

    [letter] = scene.completion_letters()
    assert (letter["truncated"], "result" in letter, scene.fields()["result"]) == ("1", False, large.result)


def test_what_comes_too_late_is_counted_each_time(scene: Scene) -> None:
    scene.born_deferred()
    scene.run(cancelling(scene.place()))
    before = scene.fields()

    answers = [scene.run(complete(scene.place(), 1, DONE)), scene.run(approve(scene.place(), 1, "{}"))]

    assert answers == [OutsideAnswer("gone", "cancelled")] * 2
    assert scene.fields() == before | {"late": "2"}


def test_each_deferral_has_its_whole_time_and_its_own_answer(scene: Scene) -> None:
    first = scene.deferred("hook")
    leave(scene)
    scene.store.hset(keys.call("c1"), "deferred_at", "1")

    def outside(nonce: int) -> Claimed:
        return first.model_copy(update={"token": f"deferred:{nonce}"})

    scene.run(deferring(claim(scene, 2), "tool"))

    scene.store.zadd(keys.WATCH, {"c1": 1})
    assert scene.run(calls.overdue(scene.place(), offered=True)).outcome == "early"
    assert [scene.run(attempts.progress(outside(nonce), "{}")) for nonce in (0, 1, 2)] == ["lost", "lost", "ok"]
    assert [scene.run(complete(scene.place(), nonce, DONE)).outcome for nonce in (0, 1, 3, 2)] == ["stale"] * 3 + ["ok"]


# ---- questions


def test_a_question_that_nobody_answers_in_time_is_completed_as_unanswered(scene: Scene) -> None:
    scene.born_deferred(kind="question")
    scene.long_ago()

    assert scene.run(calls.overdue(scene.place(), offered=False)) == calls.OverdueAnswer("ended", "completed")

    record = scene.fields()
    assert json.loads(record["result"]) == {"answered": False, "reason": "nobody answered in time"}
    assert record["result_type"] == "json"


@pytest.mark.parametrize("ends", ["expires", "is dismissed"])
def test_a_late_answer_to_a_question_is_one_letter_and_changes_no_result(ends: str, scene: Scene) -> None:
    scene.born_deferred(kind="question")
    if ends == "expires":
        scene.long_ago()
        scene.run(calls.overdue(scene.place(), offered=False))
    else:
        scene.run(complete(scene.place(), 1, Outcome(state=CallState.COMPLETED, result="aside"), dismissed=True))
    before = scene.fields()["result"]

    answers = [scene.run(complete(scene.place(), 1, DONE, late="you asked: yes")).outcome for _ in range(2)]
    other = scene.run(complete(scene.place(), 1, Outcome(state=CallState.COMPLETED, result="no"), late="no")).outcome

    assert (answers, other, scene.fields()["result"]) == (["mailed", "again"], "conflict", before)
    letters: Any = scene.store.xrange(keys.mail(scene.sid))
    flat = [(seq, [part for pair in fields.items() for part in pair]) for seq, fields in letters]
    [late] = [letter for letter in read_mail(flat) if letter.kind == "continuationResult"]
    assert (late.sender, late.text, late.call) == ("user", "you asked: yes", "c1")


@pytest.mark.parametrize("kind", ["policy", "tool"])
def test_a_late_answer_to_what_is_no_question_is_no_mail(kind: Kind, scene: Scene) -> None:
    scene.deferred(kind)
    scene.long_ago()
    scene.run(calls.overdue(scene.place(), offered=False))

    assert scene.run(complete(scene.place(), 1, DONE, late="yes")).outcome == "gone"


# ---- news meanwhile


def test_news_from_outside_are_kept_and_mailed_like_those_of_a_running_call(scene: Scene) -> None:
    claimed = scene.running()
    for number in range(1, 11):
        scene.run(attempts.notify(claimed, number, "{}", "from within"))
    scene.run(deferring(claimed, "tool"))
    outside = claimed.model_copy(update={"token": "deferred:1"})

    answers = [scene.run(attempts.notify(outside, number, "{}", "from outside")) for number in range(1, 11)]

    assert answers == ["ok"] * 6 + ["kept"] * 4
    assert [letter["text"] for letter in scene.letters() if letter["kind"] == "toolCallNotify"][10:] == [
        "from outside"
    ] * 6
    assert scene.store.xlen(keys.progress("c1")) == 1 + 20
    scene.run(complete(scene.place(), 1, DONE))
    assert (scene.run(attempts.notify(outside, 11, "{}", "x")), scene.run(attempts.progress(outside, "{}"))) == (
        "lost",
        "lost",
    )
