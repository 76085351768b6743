"""Functions of a threads worker that ignore their stop: nobody can end a thread, so the end is told as it is.

Each scene takes as long as a function is given to heed its stop, so they are played at the same time.
"""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest
from tests.acceptance.desk import Desk, Worker, a_store, a_threads_worker
from tests.waiting import eventually

from errands_config.settings import Settings
from errands_config.wire import CallState, Outcome, Retries, Timeout
from errands_workers.kinds.function import COOPERATIVE_SECONDS
from errands_workers.processes import is_dead

WITHIN = COOPERATIVE_SECONDS + 4
PARTITION_SECONDS = 5


def _said(worker: Worker, kind: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in worker.log.read_text().splitlines() if line.startswith("{")]
    return [line for line in lines if line["kind"] == kind]


@dataclass(frozen=True)
class Ignored:
    """Four of five slots were taken by functions that ignored their stop; the fifth went on serving."""

    stopped: list[Outcome]
    overdue: Outcome
    seconds: float
    ends: list[list[str]]
    same_process: bool
    meanwhile: str
    goes_on: list[dict[str, Any]]
    returned: list[dict[str, Any]]
    afterwards: set[str]


def _ignored(worker: Worker) -> Ignored:
    desk, celery = Desk(worker.store), worker.celery
    calls = [desk.call("stuck", mode="python"), desk.call("stuck", mode="except"), desk.call("stuck_async")]
    late = desk.call("stuck", {"mode": "python"}, seconds=0.5)
    for cid in (*calls, late):
        desk.running(cid)
    asked = time.monotonic()
    for cid in calls:
        desk.nudge(desk.cancel(cid, "enough"))
    meanwhile = desk.end(desk.call("add", a=1, b=2), within=1).result
    stopped, overdue = [desk.end(cid, within=WITHIN) for cid in calls], desk.end(late, within=WITHIN)
    seconds = time.monotonic() - asked
    eventually(lambda: len(_said(worker, "worker.tool_goes_on")) == 4)
    goes_on = _said(worker, "worker.tool_goes_on")
    desk.result("let_go")
    eventually(lambda: len(_said(worker, "worker.tool_returned")) == 4)
    free = [desk.call("wait_a_moment", duration=0.3) for _ in range(5)]
    eventually(lambda: {desk.state(cid) for cid in free} == {CallState.RUNNING}, within=1)
    return Ignored(
        stopped, overdue, seconds, [desk.ends(cid) for cid in (*calls, late)], worker.celery == celery, meanwhile,
        goes_on, _said(worker, "worker.tool_returned"), {desk.end(cid).result for cid in free},
    )  # fmt: skip


@dataclass(frozen=True)
class Begun:
    """A worker that could take no call any more, or not even look, and what began in its place."""

    outcome: Outcome
    innocent: CallState
    other_process: bool
    following: str
    log: str


def _full(worker: Worker) -> Begun:
    """Its only slot is taken for good."""
    desk, before = Desk(worker.store), worker.ready()
    cid = desk.call("stuck", mode="python")
    desk.running(cid)
    desk.nudge(desk.cancel(cid, "enough"))
    outcome = desk.end(cid, within=WITHIN)
    return _begun(desk, worker, before, outcome, CallState.COMPLETED)


def _silent(worker: Worker) -> Begun:
    """A tool holds the interpreter, so nothing in the process can look."""
    desk, before = Desk(worker.store), worker.ready()
    innocent = desk.call("bash_fake", mode="sleep")
    desk.running(innocent)
    cid = desk.call("fake", mode="holds_the_interpreter")
    desk.running(cid)
    desk.nudge(desk.cancel(cid, "enough"))
    outcome = desk.end(cid, within=WITHIN)
    return _begun(desk, worker, before, outcome, desk.end(innocent).state)


def _begun(desk: Desk, worker: Worker, before: str, outcome: Outcome, innocent: CallState) -> Begun:
    eventually(lambda: before not in worker.incarnations(), saying="the incarnation is given up")
    worker.ready()
    following = desk.end(desk.call("add", a=1, b=2)).result
    return Begun(outcome, innocent, worker.ready() != before, following, worker.log.read_text())


def _tried(worker: Worker) -> tuple[Outcome, list[str], list[Any], str]:
    """A try runs into its timeout and goes on: the end, all ends, the progress, and the log once it has returned."""
    desk = Desk(worker.store)
    cid = desk.call("stuck", {"mode": "python"}, around=(Retries(count=5), Timeout(seconds=0.5)))
    outcome = desk.end(cid, within=WITHIN)
    desk.result("let_go")
    eventually(lambda: len(_said(worker, "worker.tool_returned")) == 1)
    assert desk.result("add", a=1, b=2) == 3
    return outcome, desk.ends(cid), desk.progress(cid), worker.log.read_text()


def _drained(worker: Worker) -> tuple[int, float, str]:
    """Told to stop while nothing but a stuck tool is left: exit code, seconds, the call's end."""
    desk = Desk(worker.store)
    cid = desk.call("stuck", mode="python")
    desk.running(cid)
    desk.nudge(desk.cancel(cid))
    desk.end(cid, within=WITHIN)
    began = time.monotonic()
    return worker.stop(), time.monotonic() - began, str(desk.state(cid))


def _cut_off(worker: Worker) -> tuple[float, Outcome, str]:
    """The store does not answer: seconds until the stuck tool is gone, its end, and a result of what began anew."""
    desk, celery = Desk(worker.store), worker.celery
    cid = desk.call("stuck", mode="except")
    desk.running(cid)
    told: Any = worker.store.info("server")
    os.kill(told["process_id"], signal.SIGSTOP)
    began = time.monotonic()
    try:
        eventually(lambda: is_dead(celery), within=PARTITION_SECONDS + WITHIN, saying="the process has left")
        seconds = time.monotonic() - began
    finally:
        os.kill(told["process_id"], signal.SIGCONT)
    outcome = desk.end(cid)
    worker.ready()
    return seconds, outcome, desk.end(desk.call("add", a=1, b=2)).result


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Future[Any]]]:
    """All scenes, each with a store and a worker of its own."""
    folder = tmp_path_factory.mktemp("stuck")
    slots_and_scene: dict[str, tuple[int, Callable[[Worker], Any]]] = {
        "ignored": (5, _ignored), "full": (1, _full), "silent": (3, _silent), "drained": (2, _drained),
        "cut_off": (2, _cut_off), "tried": (2, _tried),
    }  # fmt: skip

    def play(settings: Settings, name: str) -> Any:
        slots, scene = slots_and_scene[name]
        patience = str(PARTITION_SECONDS) if name == "cut_off" else "60"
        log, words = folder / f"{name}.log", ("--slots", str(slots))
        with a_threads_worker(settings, log, *words, ERRANDS_PARTITION_SECONDS=patience) as worker:
            return scene(worker)

    with ExitStack() as stores, ThreadPoolExecutor() as stage:
        yield {name: stage.submit(play, stores.enter_context(a_store(folder / name)), name) for name in slots_and_scene}
        stage.shutdown()


def test_a_stop_that_is_ignored_is_recorded_as_unconfirmed_once_and_the_worker_goes_on(
    scenes: dict[str, Future[Ignored]],
):
    seen = scenes["ignored"].result()
    assert [(end.state, end.reason, end.confirmed) for end in seen.stopped] == [
        (CallState.CANCELLED, "enough", False)
    ] * 3
    assert (seen.overdue.state, seen.overdue.timeout_seconds) == (CallState.TIMED_OUT, 0.5)
    assert COOPERATIVE_SECONDS - 0.5 < seen.seconds < WITHIN
    assert seen.ends == [["cancelled"]] * 3 + [["timed_out"]]
    assert (seen.same_process, seen.meanwhile) == (True, "3")


def test_its_slot_stays_taken_until_it_returns_and_the_log_says_so(scenes: dict[str, Future[Ignored]]):
    seen = scenes["ignored"].result()
    assert [line["slots_taken"] for line in seen.goes_on] == [1, 2, 3, 4]
    assert {line["slots"] for line in seen.goes_on} == {5}
    assert sorted(line["slots_taken"] for line in seen.returned) == [0, 1, 2, 3]
    assert seen.afterwards == {"slept"}


def test_a_worker_whose_every_slot_is_stuck_begins_anew(scenes: dict[str, Future[Begun]]):
    seen = scenes["full"].result()
    assert (seen.outcome.state, seen.outcome.confirmed) == (CallState.CANCELLED, False)
    assert (seen.other_process, seen.following) == (True, "3")
    assert "worker.only_stuck_tools" in seen.log


def test_a_tool_that_holds_the_interpreter_is_ended_with_the_process_and_the_others_are_orphaned(
    scenes: dict[str, Future[Begun]],
):
    seen = scenes["silent"].result()
    assert (seen.outcome.state, seen.outcome.reason, seen.outcome.confirmed) == (CallState.CANCELLED, "enough", True)
    assert (seen.innocent, seen.other_process, seen.following) == (CallState.ORPHANED, True, "3")
    assert "worker.pool_process_silent" in seen.log


def test_a_stuck_tool_holds_up_no_worker_that_is_told_to_stop(scenes: dict[str, Future[tuple[int, float, str]]]):
    code, seconds, state = scenes["drained"].result()
    assert (code, state) == (0, "cancelled")
    assert seconds < 5


def test_a_stuck_tool_of_a_worker_that_is_cut_off_ends_with_its_process(
    scenes: dict[str, Future[tuple[float, Outcome, str]]],
):
    seconds, outcome, following = scenes["cut_off"].result()
    assert PARTITION_SECONDS < seconds < PARTITION_SECONDS + WITHIN
    assert (outcome.state, following) == (CallState.ORPHANED, "3")


def test_the_timeout_of_a_try_that_goes_on_ends_the_call_and_nothing_is_tried_again(
    scenes: dict[str, Future[tuple[Outcome, list[str], list[Any], str]]],
):
    outcome, ends, progress, log = scenes["tried"].result()
    assert (outcome.state, outcome.error, outcome.confirmed) == (
        CallState.TIMED_OUT, "tool call timed out after 0.5s", False,
    )  # fmt: skip
    assert (ends, progress) == (["timed_out"], [{"started": True}])
    assert "worker.finish_refused" not in log
