"""Each script twice: the client library repeats a command whose answer it lost, with the same arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import resources
from typing import Any

import pytest
import redis
from tests.integration.script_scenes import (
    DONE,
    HOLDER,
    QUEUE,
    DeclaredOnly,
    Scene,
    cancelling,
    deferring,
    everything,
    new_record,
    policy,
    publication,
)

from errands_config import keys
from errands_config.scripts import (
    attempts,
    calls,
    commits,
    deferred,
    gifts,
    parameters,
    retention,
    search,
    sessions,
    workers,
)
from errands_config.scripts.script import Invocation
from errands_config.settings import Settings
from errands_config.wire import CallState, Claimed, Outcome, SharedLimit

LARGE = Outcome(state=DONE.state, result="x" * 20_000)


@pytest.fixture
def scene(store: redis.Redis) -> Scene:
    return Scene(store)


@pytest.fixture
def declared(settings: Settings, store: redis.Redis) -> Iterator[DeclaredOnly]:
    client = DeclaredOnly(settings)
    yield client
    client.close()


def create(scene: Scene) -> Invocation[Any]:
    return scene.create()


def acquire(scene: Scene) -> Invocation[Any]:
    scene.run(scene.create())
    return scene.acquire()


def renew(scene: Scene) -> Invocation[Any]:
    scene.owned()
    return sessions.renew([("s1", "t1"), ("s2", "t2")], 1000)


def commit_again(scene: Scene) -> Invocation[Any]:
    """Calls that waited for others: one is settled and published, one becomes deferred, one ends."""
    got = scene.owned()
    waiting = (new_record("c1"), new_record("c2", "p2"), new_record("c3", "p3"))
    scene.committed(cursor=got.mail[-1].seq, records=waiting)
    deferred = new_record("c2", "p2", state="deferred", defer_kind="policy", expires_ms="1000")
    return scene.commit(
        cursor=got.mail[-1].seq,
        records=(replace(new_record("c1"), again=True), replace(deferred, again=True)),
        ends=(commits.End("c3", {"state": "skipped", "error": "not run: it depends on c0"}),),
        publish=(publication("c1"),),
    )


def commit(scene: Scene) -> Invocation[Any]:
    got = scene.owned()
    born_final = new_record("c3", "p3", state="failed", error="unknown tool: x", error_kind="unknown tool")
    born_deferred = new_record("c4", "p4", state="deferred", defer_kind="policy", expires_ms="1000")
    return scene.commit(
        cursor=got.mail[-1].seq,
        log=('{"kind":"user"}',),
        records=(new_record("c1"), new_record("c2", "p2"), born_final, born_deferred),
        publish=(publication("c1"),),
        events=(("turn.completed", ("turn", "1")),),
    )


def set_parameters(scene: Scene) -> Invocation[Any]:
    scene.run(scene.create())
    return parameters.set_parameters("s1", "", '{"city":"Lima"}')


def park(scene: Scene) -> Invocation[Any]:
    got = scene.owned()
    scene.committed(cursor=got.mail[-1].seq)
    return sessions.park("s1", "t1", sessions.Rest("waiting_calls"), 1000)


def park_with_mail(scene: Scene) -> Invocation[Any]:
    scene.owned()
    return sessions.park("s1", "t1", sessions.Rest("idle"), 1000)


def commit_and_park(scene: Scene) -> Invocation[Any]:
    got = scene.owned()
    step = scene.step(cursor=got.mail[-1].seq, records=(new_record("c1"),), publish=(publication("c1"),))
    return commits.commit("s1", "t1", step, 1000, sessions.Rest("waiting_calls", offer="t2"))


def refuse(scene: Scene) -> Invocation[Any]:
    scene.owned()
    return gifts.refuse("s1", "t1")


def send_mail(scene: Scene) -> Invocation[Any]:
    scene.owned()
    return sessions.send_mail("s1", "m1", "userMessage", "hi")


def claim(scene: Scene) -> Invocation[Any]:
    scene.owned()
    message = scene.queued()
    scene.run(workers.beat("w1", {}))
    return attempts.claim(message, "a1", HOLDER)


def beat(scene: Scene) -> Invocation[Any]:
    scene.owned()
    scene.run(cancelling(place_of_running(scene)))
    return workers.beat("w1", {"host": "h", "slots": "2"})


def place_of_running(scene: Scene, **more: Any) -> calls.Place:
    scene.running(**more)
    return scene.place()


def progress(scene: Scene) -> Invocation[Any]:
    scene.owned()
    return attempts.progress(scene.running(), '{"done":1}')


def notify(scene: Scene) -> Invocation[Any]:
    scene.owned()
    return attempts.notify(scene.running(), 1, '{"level":"notify","message":"look"}', "look")


def output(scene: Scene) -> Invocation[Any]:
    scene.owned()
    claimed = scene.running()
    scene.run(attempts.output(claimed, 0, "one\n"))
    return attempts.output(claimed, 4, "two\n", is_full=True)


def finish(scene: Scene) -> Invocation[Any]:
    scene.owned()
    return attempts.finish(scene.running(), HOLDER, QUEUE, DONE)


def finish_large(scene: Scene) -> Invocation[Any]:
    scene.owned()
    return attempts.finish(scene.running(), HOLDER, QUEUE, LARGE)


def cancel_queued(scene: Scene) -> Invocation[Any]:
    scene.owned()
    scene.queued()
    return cancelling(scene.place())


def cancel_running(scene: Scene) -> Invocation[Any]:
    scene.owned()
    return cancelling(place_of_running(scene))


def meet(scene: Scene) -> Invocation[Any]:
    return workers.meet()


def settle(scene: Scene) -> Invocation[Any]:
    scene.run(workers.beat("w1", {}))
    return workers.settle("w1")


def settle_call(scene: Scene) -> Invocation[Any]:
    scene.owned()
    return calls.settle_call(place_of_running(scene), "w1", reason="lost")


def overdue_queued(scene: Scene) -> Invocation[Any]:
    scene.owned()
    scene.queued()
    scene.long_ago()
    return calls.overdue(scene.place(), offered=True)


def overdue_running(scene: Scene) -> Invocation[Any]:
    scene.owned()
    place = place_of_running(scene)
    scene.long_ago()
    return calls.overdue(place, offered=True)


def repeat(scene: Scene) -> Invocation[Any]:
    scene.owned()
    scene.queued()
    scene.store.zadd(keys.queued(QUEUE), {"c1": 0})
    return calls.repeat("c1", QUEUE)


def peek(scene: Scene) -> Invocation[Any]:
    scene.run(scene.create())
    return sessions.peek(10)


def pick(scene: Scene) -> Invocation[Any]:
    scene.owned()
    scene.queued()
    return search.pick(["c1", "nobody"], [CallState.QUEUED])


def settle_marked_call(scene: Scene) -> Invocation[Any]:
    scene.owned()
    scene.running(call_policy=policy(rerun_times=1))
    return calls.settle_call(scene.place(), "w1", reason="lost")


GPU = policy(limits=(SharedLimit(name="gpu", concurrency=1),))


def claim_limited(scene: Scene) -> Invocation[Any]:
    scene.owned()
    scene.running(call_policy=GPU)
    scene.queued("c2", provider_id="p2", call_policy=GPU)
    return attempts.claim(scene.message("c2"), "a2", HOLDER)


def overdue_granted(scene: Scene) -> Invocation[Any]:
    limited = claim_limited(scene)
    scene.run(limited)
    scene.run(calls.settle_call(scene.place(), "w1"))
    return calls.overdue(scene.place("c2"), offered=True)


def defer(scene: Scene) -> Invocation[Any]:
    scene.owned()
    return deferring(scene.running(call_policy=GPU))


def defer_wished(scene: Scene) -> Invocation[Any]:
    scene.owned()
    claimed = scene.running()
    scene.run(cancelling(scene.place()))
    return deferring(claimed)


def complete(scene: Scene) -> Invocation[Any]:
    scene.owned()
    scene.deferred(call_policy=GPU)
    return deferred.complete(scene.place(), 1, DONE)


def complete_mailed(scene: Scene) -> Invocation[Any]:
    scene.owned()
    scene.born_deferred(kind="question")
    scene.run(deferred.complete(scene.place(), 1, DONE, dismissed=True))
    return deferred.complete(scene.place(), 1, LARGE, late="you asked: yes")


def approve(scene: Scene) -> Invocation[Any]:
    scene.owned()
    scene.deferred(call_policy=GPU)
    return deferred.approve(scene.place(), 1, "{}")


def approve_edited(scene: Scene) -> Invocation[Any]:
    scene.owned()
    scene.born_deferred()
    return deferred.approve(scene.place(), 1, "{}", deferred.Edited('{"x":1}', GPU, "slow"))


def cancel_deferred(scene: Scene) -> Invocation[Any]:
    scene.owned()
    scene.born_deferred()
    return cancelling(scene.place())


def expire(scene: Scene) -> Invocation[Any]:
    scene.owned()
    scene.deferred("tool")
    scene.long_ago()
    return calls.overdue(scene.place(), offered=True)


def outside_claimed(scene: Scene) -> Claimed:
    """A deferred call as those report of it who are outside."""
    return scene.deferred("tool").model_copy(update={"token": "deferred:1"})


def progress_from_outside(scene: Scene) -> Invocation[Any]:
    scene.owned()
    return attempts.progress(outside_claimed(scene), '{"done":1}')


def notify_from_outside(scene: Scene) -> Invocation[Any]:
    scene.owned()
    return attempts.notify(outside_claimed(scene), 7, '{"level":"notify","message":"look"}', "look")


def told_and_parked(scene: Scene) -> None:
    got = scene.owned()
    scene.ended()
    scene.committed(cursor=scene.run(sessions.park("s1", "t1", sessions.Rest("idle"), 1000)).mail[-1].seq)
    scene.run(sessions.park("s1", "t1", sessions.Rest("idle"), 1000))
    assert got.head.version == 0


def forget_calls(scene: Scene) -> Invocation[Any]:
    told_and_parked(scene)
    return retention.forget_calls("s1", scene.version, ["c1", "gone"])


def forget(scene: Scene) -> Invocation[Any]:
    told_and_parked(scene)
    scene.run(retention.forget_calls("s1", scene.version, ["c1"]))
    return retention.forget("s1", scene.version, 0)


SCRIPTS: list[Callable[[Scene], Invocation[Any]]] = [
    create, acquire, renew, commit, commit_again, commit_and_park, park, park_with_mail, refuse, send_mail, claim, beat,
    progress, notify, output, finish, finish_large, cancel_queued, cancel_running, meet, settle, settle_call,
    settle_marked_call, claim_limited, set_parameters,
    overdue_queued, overdue_running, overdue_granted, repeat, peek, pick, forget_calls, forget,
    defer, defer_wished, complete, complete_mailed, approve, approve_edited, cancel_deferred, expire,
    progress_from_outside, notify_from_outside,
]  # fmt: skip
SCRIPT_FILES = resources.files("errands_config.scripts")
SHARED = {
    "answering", "clock", "deferring", "ending", "events", "final", "generation", "head", "limits", "mailbox",
    "outcome", "parking", "progressing", "record", "requeue", "wake",
}  # fmt: skip
"""Parts of scripts, no scripts of their own."""
SECOND_ANSWERS: dict[Callable[[Scene], Invocation[Any]], Any] = {
    create: "exists",
    refuse: "stale",
    overdue_queued: calls.OverdueAnswer("early"),
    overdue_running: calls.OverdueAnswer("early"),
    overdue_granted: calls.OverdueAnswer("early"),
    settle_call: "",
    settle_marked_call: "",
    claim_limited: attempts.ClaimRefused("refused", "waiting"),
    forget: "gone",
    repeat: None,
    complete: deferred.OutsideAnswer("again", "completed"),
    complete_mailed: deferred.OutsideAnswer("again", "completed"),
    approve: deferred.OutsideAnswer("again", "queued"),
    approve_edited: deferred.OutsideAnswer("again", "queued"),
    expire: calls.OverdueAnswer("early"),
}
"""What the second of two equal runs answers, where that is something else: whoever asks reads it as "nothing to do"."""


def timeless(answer: Any) -> Any:
    """An answer without the store's time."""
    match answer:
        case sessions.Acquired() | workers.Beat():
            return (*[getattr(answer, name) for name in answer.__slots__ if name != "now"],)
        case sessions.Answered():
            return "parked" if answer.outcome == "stale" else answer.outcome
        case sessions.Receipt():
            return answer.seq
        case _ if hasattr(answer, "deadline_ms"):
            return answer.model_copy(update={"deadline_ms": 0})
        case _:
            return answer


@pytest.mark.parametrize("make", SCRIPTS, ids=lambda make: make.__name__)
def test_a_script_that_runs_twice_does_what_it_does_once(
    make: Callable[[Scene], Invocation[Any]], scene: Scene
) -> None:
    invocation = make(scene)
    before = everything(scene.store)

    first = timeless(scene.run(invocation))
    once = everything(scene.store)
    second = timeless(scene.run(invocation))

    assert everything(scene.store) == once
    assert (once != before) or make in (renew, beat, park_with_mail, peek, pick)
    assert second == SECOND_ANSWERS.get(make, first)


@pytest.mark.parametrize("make", SCRIPTS, ids=lambda make: make.__name__)
def test_a_script_touches_the_keys_that_it_declares_and_no_others(
    make: Callable[[Scene], Invocation[Any]], scene: Scene, declared: DeclaredOnly
) -> None:
    invocation = make(scene)

    declared.run(invocation)  # a key that it did not declare would be NOPERM
    declared.run(invocation)

    assert len(set(invocation.keys)) == len(invocation.keys)


def test_every_script_is_among_those_that_are_run_twice(scene: Scene) -> None:
    names: set[str] = set()
    for make in SCRIPTS:
        scene.store.flushall()
        names.add(make(Scene(scene.store)).script.name)

    written = {file.name.removesuffix(".lua") for file in SCRIPT_FILES.iterdir() if file.name.endswith(".lua")}
    assert names == written - SHARED
