"""The page of events against what really stands in the stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest
import redis
from docs.generate.events import CALL_FACTS, CALL_WORDS
from tests.integration.script_scenes import Scene, cancelling

from errands_config import keys
from errands_config.scripts import attempts, calls, deferred, workers
from errands_config.wire import CallState, Deferral, Outcome

LABEL = "nightly"


@pytest.fixture
def scene(store: redis.Redis) -> Scene:
    made = Scene(store)
    made.owned()
    return made


def complete(scene: Scene) -> None:
    scene.run(attempts.progress(scene.running(label=LABEL), '{"line":"x"}'))
    claimed = scene.running("c2", token="a2", provider_id="p2", label=LABEL)
    scene.run(attempts.finish(claimed, attempts.Holder("w1", 11), "default", Outcome(state=CallState.COMPLETED)))


def fail(scene: Scene) -> None:
    scene.ended(Outcome(state=CallState.FAILED, error="x", error_kind="ValueError"), label=LABEL)


def time_out(scene: Scene) -> None:
    scene.ended(Outcome(state=CallState.TIMED_OUT, timeout_seconds=2.5), label=LABEL)


def cancel(scene: Scene) -> None:
    scene.ended(Outcome(state=CallState.CANCELLED, by="user", reason="enough"), label=LABEL)
    scene.queued("c2", label=LABEL)
    scene.run(cancelling(scene.place("c2")))


def lose(scene: Scene) -> None:
    scene.running(label=LABEL)
    scene.run(workers.settle("w1"))
    scene.run(calls.settle_call(scene.place(), "w1"))


def deny(scene: Scene) -> None:
    deferral = Deferral(kind="tool", reason="the other side is at it")
    scene.run(deferred.defer(scene.running(label=LABEL), attempts.Holder("w1", 11), "default", deferral, 60))
    scene.run(deferred.complete(scene.place(), 1, Outcome(state=CallState.DENIED, error="no")))


@pytest.mark.parametrize("happens", [complete, fail, time_out, cancel, lose, deny], ids=lambda it: it.__name__)
def test_the_events_of_a_call_have_the_facts_that_their_page_lists(
    happens: Callable[[Scene], None], scene: Scene
) -> None:
    happens(scene)

    told = [fields for _, fields in cast("Any", scene.store.xrange(keys.events(scene.sid)))]
    assert told
    for event in told:
        state = event["kind"].removeprefix("tool_call.")
        never_started = state == "cancelled" and event["tool_call_id"] == "c2"
        own = {fact for fact in CALL_WORDS[state][1] if not (never_started and fact == "elapsed_ms")}
        assert event.keys() - {"kind", "at"} == {*CALL_FACTS, *own}
