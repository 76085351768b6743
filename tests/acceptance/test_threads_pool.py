"""`errands worker --pool threads`: several calls in one process, each ended without harm to the others."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.desk import ROOT, Desk, Worker, a_store, a_threads_worker, below, in_both_pools, processes_of_call
from tests.waiting import eventually

from errands_config import keys
from errands_config.wire import CallState
from errands_workers.processes import is_dead

pytest_plugins = ("tests.acceptance.worker_fixtures",)

CANCELLED = [CallState.CANCELLED]


@pytest.fixture
def pool() -> str:
    return "threads"


def _processes_of(cid: str) -> set[int]:
    return set(processes_of_call(cid))


def _deaf(desk: Desk) -> tuple[str, set[int]]:
    """A call whose tree ignores TERM, all of it begun."""
    cid = desk.call("bash_fake", mode="deaf")
    eventually(lambda: len(_processes_of(cid)) >= 9, saying="the whole tree is there")
    return cid, _processes_of(cid)


def _cancel(desk: Desk, *calls: str) -> float:
    """Cancel calls and wait for their ends; answers the seconds that took."""
    asked = time.monotonic()
    for cid in calls:
        desk.nudge(desk.cancel(cid))
    assert [desk.end(cid).state for cid in calls] == CANCELLED * len(calls)
    return time.monotonic() - asked


def test_all_calls_run_in_one_process_and_as_many_at_once_as_there_are_slots(desk: Desk, worker: Worker):
    calls = [desk.call("wait_a_moment", duration=0.4) for _ in range(4)]
    eventually(lambda: [desk.state(cid) for cid in calls] == [CallState.RUNNING] * 4, within=0.4)
    assert {desk.end(cid).state for cid in calls} == {CallState.COMPLETED}
    assert {desk.result("where")[0] for _ in range(3)} == {worker.celery}


def test_a_slot_that_becomes_free_takes_the_next_call_at_once(desk: Desk):
    holding = [desk.call("bash_fake", mode="sleep") for _ in range(4)]
    eventually(lambda: {desk.state(cid) for cid in holding} == {CallState.RUNNING})
    waiting = desk.call("add", a=1, b=2)
    _cancel(desk, holding[0])
    assert desk.end(waiting).result == "3"
    assert int(desk.field(waiting, "started_at")) - int(desk.field(holding[0], "ended_at")) < 200
    assert [desk.state(cid) for cid in holding[1:]] == [CallState.RUNNING] * 3


def test_a_cancel_ends_the_whole_tree_of_its_call_and_nothing_of_another(desk: Desk, worker: Worker):
    (first, doomed), (second, spared), (third, others) = _deaf(desk), _deaf(desk), _deaf(desk)
    assert _cancel(desk, first) < 2
    assert all(map(is_dead, doomed))
    assert (_processes_of(second), _processes_of(third)) == (spared, others)
    assert _cancel(desk, second, third) < 2
    assert worker.tool_processes() == below(worker.celery) == []


def test_what_a_script_leaves_behind_ends_with_it_while_others_go_on(desk: Desk):
    other, spared = _deaf(desk)
    cid = desk.call("bash_fake", mode="leave_behind")
    assert desk.end(cid).result == "done"
    assert (_processes_of(cid), _processes_of(other)) == (set(), spared)


def test_a_process_that_dropped_every_mark_ends_at_the_latest_with_the_calls_that_it_may_belong_to(
    desk: Desk, worker: Worker
):
    assert desk.result("bash_fake", mode="shed") == "done"
    assert below(worker.celery) == []
    other = desk.call("bash_fake", mode="sleep")
    desk.running(other)
    assert desk.result("bash_fake", mode="shed") == "done"
    assert _processes_of(other)
    _cancel(desk, other)
    assert below(worker.celery) == []


def test_a_function_that_looks_at_its_context_ends_at_once_and_its_slot_is_free(desk: Desk, worker: Worker):
    celery = worker.celery
    calls = [desk.call("watch"), desk.call("sleep_in_context"), desk.call("fake_async", mode="sleep")]
    eventually(lambda: {desk.state(cid) for cid in calls} == {CallState.RUNNING})
    assert _cancel(desk, *calls) < 0.5
    assert all(desk.end(cid).confirmed for cid in calls)
    assert desk.end(desk.call("add", a=1, b=2), within=1).result == "3"
    assert worker.celery == celery


@in_both_pools
def test_a_cooperative_function_tidies_up_undisturbed(desk: Desk, worker: Worker, tmp_path: Path):
    cid = desk.call("tidy", path=str(tmp_path / "tidied"))
    desk.running(cid)
    pool = worker.pool()
    _cancel(desk, cid)
    assert (tmp_path / "tidied").read_text() == cid
    assert worker.pool() == pool


def test_a_deadline_is_told_to_a_function_as_a_cancel_is(desk: Desk):
    outcome = desk.end(desk.call("watch", seconds=0.2))
    assert (outcome.state, outcome.timeout_seconds, outcome.confirmed) == (CallState.TIMED_OUT, 0.2, True)


def test_a_process_that_a_function_began_in_its_own_thread_ends_with_it(desk: Desk, worker: Worker):
    other, spared = _deaf(desk)
    cid = desk.call("with_process")
    eventually(lambda: {"begun": True} in desk.progress(cid))
    eventually(lambda: len(below(worker.celery)) >= len(spared) + 2)
    _cancel(desk, cid)
    assert set(below(worker.celery)) == spared == _processes_of(other)


def test_the_exit_code_of_a_functions_process_is_not_taken_from_it_by_the_end_of_another_call(desk: Desk):
    waiting = desk.call("exit_code", duration=0.7)
    desk.running(waiting)
    while not desk.state(waiting).is_final:
        assert desk.result("bash_fake", mode="leave_behind") == "done"
    assert desk.end(waiting).result == "7"


def test_the_tasks_that_an_async_call_leaves_end_with_it_and_those_of_others_go_on(desk: Desk):
    other = desk.call("fake_async", mode="sleep")
    desk.running(other)
    assert desk.result("fake_async", mode="leave_task") == "left"
    assert desk.result("fake_async", mode="look_for_left") == "cancelled"
    assert desk.state(other) == CallState.RUNNING


def test_it_offers_scripts_and_cooperative_functions_and_says_what_it_leaves_out(worker: Worker):
    offers: Any = worker.store.hkeys(keys.catalogue(worker.ready()))
    assert {"bash_fake", "watch", "add", "stuck_async"} <= set(offers)
    lines = [json.loads(line) for line in worker.log.read_text().splitlines()]
    [said] = [line for line in lines if line["kind"] == "worker.tools_left_out"]
    assert said["tools"] == ["not_for_threads"]
    assert said["reason"] == "the threads pool runs functions only with @tool(cooperative=True)"
    assert "not_for_threads" not in offers


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--module", "tests.tools.functions", "--pool", "threads"], "add, fake, wait_a_moment"),
        (["--tools", "{empty}"], "no tool was found that this worker can run"),
        (["--tools", "tests/tools/nothing"], "describe answered no JSON"),
    ],
)
def test_a_worker_that_is_left_without_a_tool_ends_and_says_why(tmp_path: Path, words: list[str], reason: str):
    (tmp_path / "empty").mkdir()
    broken = tmp_path / "broken" / "tool"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\necho no\n")
    broken.chmod(0o755)
    places = {"{empty}": str(tmp_path / "empty"), "tests/tools/nothing": str(broken.parent)}
    with a_store(tmp_path / "home") as settings:
        done = subprocess.run(
            [sys.executable, "-m", "errands_workers", *(places.get(word, word) for word in words)],
            env={"PATH": os.environ["PATH"], "ERRANDS_REDIS_URL": settings.redis_url or ""},
            cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
    assert (done.returncode, reason in done.stderr) == (3, True), done.stderr


def test_a_worker_that_is_told_to_stop_waits_for_scripts_and_functions(tmp_path: Path):
    with a_store(tmp_path / "home") as settings, a_threads_worker(settings, tmp_path / "log") as worker:
        desk = Desk(worker.store)
        calls = [desk.call("wait_a_moment", duration=0.7), desk.call("bash_fake", mode="pause")]
        for cid in calls:
            desk.running(cid)
        assert worker.stop() == 0
        assert [desk.end(cid).result for cid in calls] == ["slept", "rested"]
        assert worker.incarnations() == []
