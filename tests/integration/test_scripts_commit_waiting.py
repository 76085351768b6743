"""The commit about calls that waited for others: they are settled or end there, and never against anybody else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import redis
from tests.integration.script_scenes import Scene, cancelling, new_record, publication

from errands_config import keys
from errands_config.scripts.commits import End, Record

SKIPPED = End("c1", {"state": "skipped", "error": "not run: it depends on c0, which failed"})


@pytest.fixture
def scene(store: redis.Redis) -> Scene:
    made = Scene(store)
    made.owned()
    made.committed(records=(new_record("c1", task_handle="first"),))
    return made


def settled(**more: Any) -> Record:
    return replace(new_record("c1", arguments='{"x":"result"}', **more), again=True)


def ends(scene: Scene) -> list[str]:
    events: Any = scene.store.xrange(keys.events(scene.sid))
    return [fields["kind"] for _, fields in events]


def test_a_call_is_settled_and_queued_at_once(scene: Scene) -> None:
    created = scene.fields()["created"]
    scene.committed(records=(settled(),), publish=(publication("c1"),))
    kept = scene.fields()
    assert (kept["state"], kept["arguments"], kept["created"]) == ("queued", '{"x":"result"}', created)


def test_a_call_that_was_cancelled_meanwhile_is_neither_settled_nor_queued(scene: Scene) -> None:
    scene.run(cancelling(scene.place()))
    scene.committed(records=(settled(),), publish=(publication("c1"),))
    assert (scene.state(), scene.fields()["arguments"]) == ("cancelled", "{}")


def test_a_call_that_was_cancelled_meanwhile_is_not_deferred(scene: Scene) -> None:
    scene.run(cancelling(scene.place()))
    scene.committed(records=(settled(state="deferred", defer_kind="policy", expires_ms="1000"),))
    assert scene.state() == "cancelled"
    assert scene.store.zscore(keys.WATCH, "c1") is None


def test_a_call_ends_with_the_commit_once(scene: Scene) -> None:
    scene.committed(ends=(SKIPPED,))
    scene.committed(ends=(SKIPPED,))
    assert scene.fields()["error"] == SKIPPED.fields["error"]
    assert ends(scene) == ["tool_call.skipped"]


def test_who_cancelled_it_first_is_right(scene: Scene) -> None:
    scene.run(cancelling(scene.place()))
    scene.committed(ends=(SKIPPED,))
    assert scene.state() == "cancelled"
    assert ends(scene) == ["tool_call.cancelled"]


def test_handles_and_keys_are_bound_by_the_commit_and_outlive_their_calls(scene: Scene) -> None:
    scene.committed(records=(replace(new_record("c2"), key="my key", likeness="abc"),))
    assert scene.store.hgetall(keys.handles(scene.sid)) == {"first": "c1"}
    kept: Any = scene.store.hgetall(keys.idempotency(scene.sid))
    assert "my key" not in str(kept)
    assert [*kept.values()] == ["c2 abc"]
