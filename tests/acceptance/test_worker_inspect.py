"""What Celery's own tools see of a worker's calls, and what becomes of a message that a worker took and lost."""

from typing import Any

import pytest
from tests.acceptance.desk import Desk
from tests.waiting import eventually

from errands_config import keys
from errands_config.settings import Settings
from errands_workers.app import make_app

pytest_plugins = ("tests.acceptance.worker_fixtures",)


def inspected(settings: Settings, what: str) -> list[dict[str, Any]]:
    """What the one worker answers to a question of `celery inspect`."""
    answers: dict[str, list[dict[str, Any]]] = getattr(make_app(settings).control.inspect(timeout=5), what)()
    [calls] = answers.values()
    return calls


def test_a_running_call_is_among_the_active_ones_without_its_content(desk: Desk, worker_settings: Settings):
    cid = desk.call("fake", mode="sleep")
    pid = desk.running(cid)
    active = eventually(lambda: inspected(worker_settings, "active"), saying="the call is active")
    assert [(one["id"], one["name"], one["worker_pid"]) for one in active] == [(cid, "tool.fake", pid)]
    assert "sleep" not in repr(active)
    desk.nudge(desk.cancel(cid))
    desk.end(cid)
    eventually(lambda: not inspected(worker_settings, "active"), saying="nothing is active")


def test_nothing_of_a_message_is_kept_by_the_broker_once_a_worker_has_it(desk: Desk):
    assert desk.result("add", a=1, b=1) == 2
    assert not desk.store.exists("unacked", "unacked_index")


@pytest.mark.parametrize(
    ("written", "instead"),
    [
        ('"id":"odd"', '"di":"odd"'),
        ('"id":"odd"', '"id":["odd"]'),
        ('"timelimit":[3600,null]', '"timelimit":3600'),
        ('"timelimit":[3600,null]', '"timelimit":["long",null]'),
    ],
)
def test_a_message_that_is_none_of_ours_is_dropped_and_the_same_worker_serves_on(
    desk: Desk, written: str, instead: str
):
    worker = desk.store.zrange(keys.WORKERS, 0, -1)
    text = desk.message("odd", "add")
    assert written in text
    desk.publish(text.replace(written, instead))
    assert desk.result("add", a=2, b=1) == 3
    assert desk.store.zrange(keys.WORKERS, 0, -1) == worker
