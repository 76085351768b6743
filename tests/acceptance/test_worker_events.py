"""What Celery's events, and so Flower, are told: ids, states, sizes; never what a call is about."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from tests.acceptance.desk import Desk
from tests.waiting import eventually

from errands_config.settings import Settings
from errands_workers.app import make_app

pytest_plugins = ("tests.acceptance.worker_fixtures",)

SECRET = "swordfish"


@pytest.fixture
def events(worker_settings: Settings) -> Iterator[list[dict[str, Any]]]:
    """The events of tasks, as they come once somebody has asked for them, as Flower does."""
    seen: list[dict[str, Any]] = []
    app = make_app(worker_settings)
    with app.connection_for_read() as connection:
        receiver = app.events.Receiver(connection, handlers={"*": seen.append})

        def listen() -> None:
            for _ in receiver.consume(limit=None, wakeup=False):
                pass

        thread = threading.Thread(target=listen)
        thread.start()
        try:
            eventually(lambda: seen, saying="the worker's heartbeat is heard")
            eventually(lambda: bool(app.control.enable_events(reply=True)), saying="the worker answers")
            yield seen
        finally:
            receiver.should_stop = True
            thread.join()


def told(events: list[dict[str, Any]], cid: str, kind: str) -> dict[str, Any]:
    """Wait for an event of a call."""
    return eventually(
        lambda: next((one for one in events if one.get("uuid") == cid and one["type"] == kind), {}),
        saying=f"{kind} of {cid}",
    )


def test_each_end_is_shown_as_what_it_is_and_nothing_of_its_content(desk: Desk, events: list[dict[str, Any]]):
    completed = desk.call("bash_fake", mode="say", text=SECRET)
    failed = desk.call("fake", mode="value_error")
    late = desk.call("fake", mode="sleep", seconds=0.1)
    stopped = desk.call("bash_fake", mode="sleep")
    assert told(events, completed, "task-succeeded")["result"] == "'completed 9 B in 0.0 s'"
    assert told(events, failed, "task-failed")["exception"] == "CallFailed('failed (ValueError) in 0.0 s')"
    assert "timed_out in 0.1 s" in told(events, late, "task-failed")["exception"]
    desk.running(stopped)
    desk.nudge(desk.cancel(stopped))
    told(events, stopped, "task-revoked")
    assert told(events, completed, "task-received")["name"] == "tool.bash_fake"
    assert desk.result("add", a=1, b=1) == 2
    assert SECRET not in repr(events)
    assert "task-failed" not in {one["type"] for one in events if one.get("uuid") == stopped}
