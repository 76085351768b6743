"""What the commit script puts on a queue is, field by field, what kombu writes for the same task."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any, cast

import pytest
import redis
from celery import Celery
from structlog.testing import capture_logs

from errands_config.scripts.calls import Republish
from errands_config.settings import Settings
from errands_config.store import broker_url
from errands_config.wire import CallPolicy, SharedLimit, TaskMessage
from errands_orchestrator.dispatcher import (
    Dispatcher,
    Publication,
    first_publication,
    message,
    repeated_publication,
)

OF_THE_SENDER = {"reply_to", "origin", "delivery_tag"}
"""Who sent it and which copy it is; no reader of ours looks at them."""


def policy(seconds: float, *limits: str) -> CallPolicy:
    shared = tuple(SharedLimit(name=name, concurrency=1) for name in limits)
    return CallPolicy(timeout_seconds=seconds, queue_timeout_seconds=60, limits=shared)


ODD = ("01a22dfb-45b8-7807-a732-244397330bfc", "s-1", "bash_run-tests_2", "gpu.big-2")
CASES = {
    "plain": first_publication("c1", "s1", "work", "default", 1_700_000_000_000, policy(900)),
    "odd": first_publication(*ODD, 1, policy(0.5, "gpu", "api")),
    "longest names": first_publication("c" * 64, "s" * 64, "t" * 64, "q" * 64, 2**42, policy(86_400)),
    "a repeat": repeated_publication(Republish("c1", "s1", "q.1", "work-it", 2, 3, 1_700_000_000_000, 10.5)),
}


@pytest.fixture
def celery(settings: Settings) -> Iterator[Celery]:
    app = Celery("somebody else", broker=broker_url(settings), set_as_current=False)
    yield app
    app.close()


def sent_by_kombu(app: Celery, store: redis.Redis, publication: Publication) -> dict[str, Any]:
    app.send_task(
        publication.task,
        kwargs=publication.body.model_dump(),
        task_id=publication.celery_id,
        queue=publication.body.queue,
        argsrepr="()",
        kwargsrepr=publication.shown,
        ignore_result=True,
        time_limit=publication.limit_seconds,
    )
    return json.loads(cast("str", store.rpop(publication.body.queue)))


def flat(value: object, path: str = "") -> dict[str, object]:
    """Every field with its path, so that a difference names itself. The body is read as well as compared as bytes."""
    if not isinstance(value, dict):
        return {path: value}
    fields: dict[str, object] = {}
    for name, inner in cast("dict[str, object]", value).items():
        if name not in OF_THE_SENDER:
            fields |= flat(inner, f"{path}/{name}")
    return fields


@pytest.mark.parametrize("publication", CASES.values(), ids=CASES.keys())
def test_a_message_has_every_field_as_kombu_writes_it(
    publication: Publication, celery: Celery, store: redis.Redis
) -> None:
    kombus = sent_by_kombu(celery, store, publication)
    ours = json.loads(message(publication))

    assert body(ours) == body(kombus)
    assert flat(ours | {"body": ""}) == flat(kombus | {"body": ""})
    assert set(ours) == set(kombus)
    assert set(ours["headers"]) == set(kombus["headers"])
    assert set(ours["properties"]) == set(kombus["properties"])


def body(sent: dict[str, Any]) -> Any:
    return json.loads(base64.b64decode(sent["body"]))


def test_a_message_carries_ids_and_nothing_of_the_call(store: redis.Redis) -> None:
    [args, kwargs, _] = body(json.loads(message(CASES["plain"])))

    assert args == []
    assert TaskMessage(**kwargs) == CASES["plain"].body


def test_two_messages_of_one_call_are_two_deliveries() -> None:
    tags = {json.loads(message(CASES["plain"]))["properties"]["delivery_tag"] for _ in range(100)}

    assert len(tags) == 100


def test_a_repeat_has_a_celery_id_of_its_own_for_the_same_attempt() -> None:
    again = CASES["a repeat"]

    assert (again.celery_id, again.body.attempt) == ("c1.2r3", 2)
    assert again.celery_id.split(".")[0] == again.body.call


@pytest.fixture
def dispatcher(settings: Settings) -> Iterator[Dispatcher]:
    made = Dispatcher(broker_url(settings))
    yield made
    made.close()


async def test_the_dispatcher_sends_the_same_form_through_kombu(dispatcher: Dispatcher, store: redis.Redis) -> None:
    await dispatcher.publish(list(CASES.values()))

    for publication in CASES.values():
        sent = json.loads(cast("str", store.rpop(publication.body.queue)))
        ours = json.loads(message(publication))
        assert body(sent) == body(ours)
        assert flat(sent | {"body": ""}) == flat(ours | {"body": ""})


async def test_a_dispatcher_whose_broker_is_away_says_so_and_goes_on() -> None:
    lost = Dispatcher("redis://127.0.0.1:1/0")

    with capture_logs() as logs:
        await lost.publish([CASES["plain"]])
        await lost.nudge(["c1"])

    lost.close()
    assert [line["event"] for line in logs] == ["publish.failed", "nudge.failed"]
