"""Cancels and deadlines of functions on a real worker: by exception where they let it, else with their process."""

import time

import pytest
from tests.acceptance.desk import Desk, Worker, below
from tests.waiting import eventually

from errands_config.wire import CallState

pytest_plugins = ("tests.acceptance.worker_fixtures",)


def _cancelled(desk: Desk, worker: Worker, cid: str) -> float:
    """Cancel a running call; answers the seconds until its end."""
    pid = desk.running(cid)
    asked = time.monotonic()
    desk.nudge(desk.cancel(cid, "enough"))
    outcome = desk.end(cid)
    taken = time.monotonic() - asked
    assert (outcome.state, outcome.by, outcome.reason) == (CallState.CANCELLED, "user", "enough")
    assert (below(pid), worker.tool_processes()) == ([], [])
    return taken


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("fake", {"mode": "sleep"}),
        ("fake", {"mode": "stubborn"}),
        ("fake", {"mode": "waits_for_process"}),
        ("sleep_in_context", {}),
        ("fake_async", {"mode": "sleep"}),
    ],
)
def test_a_function_that_can_be_interrupted_ends_at_once_and_its_process_takes_the_next_call(
    desk: Desk, worker: Worker, tool: str, arguments: dict[str, object]
):
    [pid] = worker.pool()
    assert _cancelled(desk, worker, desk.call(tool, arguments)) < 0.5
    following = desk.call("add", a=1, b=2)
    assert desk.end(following, within=1).result == "3"
    assert worker.pool() == [pid]


@pytest.mark.parametrize(
    ("tool", "mode"), [("fake", "deaf"), ("fake", "native"), ("fake_async", "swallow"), ("fake_async", "block")]
)
def test_a_function_that_goes_on_is_ended_with_its_process(desk: Desk, worker: Worker, tool: str, mode: str):
    [pid] = worker.pool()
    assert _cancelled(desk, worker, desk.call(tool, mode=mode)) < 3
    eventually(lambda: pid not in worker.pool(), within=1)
    assert desk.result("add", a=1, b=2) == 3


def test_a_function_that_holds_the_interpreter_is_ended_by_the_launcher(desk: Desk, worker: Worker):
    [pid] = worker.pool()
    assert _cancelled(desk, worker, desk.call("fake", mode="holds_the_interpreter")) < 6
    assert pid not in worker.pool()
    assert desk.result("add", a=1, b=2) == 3


def test_a_function_that_outstays_its_time_is_interrupted(desk: Desk):
    began = time.monotonic()
    outcome = desk.end(desk.call("fake", mode="sleep", seconds=0.2))
    assert (outcome.state, outcome.timeout_seconds) == (CallState.TIMED_OUT, 0.2)
    assert time.monotonic() - began < 1


def test_a_function_that_holds_the_interpreter_beyond_its_time_has_timed_out(desk: Desk):
    outcome = desk.end(desk.call("fake", mode="holds_the_interpreter", seconds=0.5))
    assert outcome.state == CallState.TIMED_OUT


def test_what_a_function_begins_ends_with_it(desk: Desk, worker: Worker):
    assert desk.result("fake", mode="processes") == "begun"
    assert worker.tool_processes() == []
