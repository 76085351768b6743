"""Deaths of a worker's processes: no call is left without an end, no process of a call is left at all."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.desk import (
    Desk,
    Worker,
    a_store,
    a_threads_worker,
    a_worker,
    below,
    in_both_pools,
    marked_processes,
    settled,
)
from tests.waiting import eventually

from errands_config.scripts.script import run
from errands_config.scripts.workers import settle
from errands_config.settings import Settings
from errands_config.wire import CallState
from errands_workers.leftovers import sweep_leftovers
from errands_workers.processes import is_dead


@pytest.fixture(scope="module")
def mortal_prefork(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    """A worker of which these tests kill parts; its launcher makes it whole again."""
    folder = tmp_path_factory.mktemp("mortal-prefork")
    with a_store(folder / "home") as settings, a_worker(settings, folder / "log") as worker:
        yield worker


@pytest.fixture(scope="module")
def mortal_threads(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    """The same with threads."""
    folder = tmp_path_factory.mktemp("mortal-threads")
    with a_store(folder / "home") as settings, a_threads_worker(settings, folder / "log") as worker:
        yield worker


@pytest.fixture
def pool() -> str:
    return "prefork"


@pytest.fixture
def mortal(pool: str, request: pytest.FixtureRequest) -> Worker:
    """The worker of the test's pool."""
    return request.getfixturevalue(f"mortal_{pool}")


def _own(pool: str, settings: Settings, log: Path, partition: str = "60") -> AbstractContextManager[Worker]:
    """A worker with one slot of a test's own."""
    start = a_threads_worker if pool == "threads" else a_worker
    return start(settings, log, "--slots", "1", ERRANDS_PARTITION_SECONDS=partition)


@pytest.fixture
def desk(mortal: Worker) -> Desk:
    mortal.ready()
    return Desk(mortal.store)


def _deaf_call(desk: Desk) -> tuple[str, int]:
    cid = desk.call("bash_fake", mode="deaf")
    pid = desk.running(cid)
    eventually(lambda: len(below(pid)) >= 8, saying="the whole tree is there")
    return cid, pid


def _server(worker: Worker) -> int:
    told: Any = worker.store.info("server")
    return int(told["process_id"])


def test_a_killed_pool_process_leaves_nothing_and_its_call_is_orphaned_at_once(desk: Desk, mortal: Worker):
    cid, pid = _deaf_call(desk)
    os.kill(pid, signal.SIGKILL)
    outcome = desk.end(cid, within=2)
    assert (outcome.state, outcome.reason) == (CallState.ORPHANED, "its pool process died")
    assert mortal.tool_processes() == []
    assert desk.result("add", a=1, b=2) == 3


def test_a_killed_pool_process_whose_call_was_to_be_cancelled_has_cancelled_it(desk: Desk):
    cid, pid = _deaf_call(desk)
    os.kill(pid, signal.SIGSTOP)
    desk.cancel(cid, "enough")
    os.kill(pid, signal.SIGKILL)
    outcome = desk.end(cid, within=2)
    assert (outcome.state, outcome.by, outcome.confirmed) == (CallState.CANCELLED, "user", True)


def test_a_tool_that_kills_its_own_process_is_started_once(desk: Desk):
    cid = desk.call("fake", mode="suicide")
    assert desk.end(cid).state == CallState.ORPHANED
    assert desk.result("add", a=1, b=2) == 3
    assert desk.ends(cid) == ["orphaned"]


@in_both_pools
def test_a_killed_celery_process_leaves_nothing_and_a_new_incarnation_serves(desk: Desk, mortal: Worker):
    before = mortal.ready()
    cid, _ = _deaf_call(desk)
    os.kill(mortal.celery, signal.SIGKILL)
    outcome = desk.end(cid, within=2)
    assert (outcome.state, outcome.reason) == (CallState.ORPHANED, "its worker died")
    assert mortal.tool_processes() == []
    assert before in settled(mortal.store)
    assert mortal.ready() != before
    assert desk.result("add", a=1, b=2) == 3


@in_both_pools
def test_a_worker_that_finds_itself_given_up_kills_its_tools_and_begins_anew(desk: Desk, mortal: Worker):
    before = mortal.ready()
    cid, pid = _deaf_call(desk)
    run(mortal.store, settle(before))
    eventually(lambda: is_dead(pid) and mortal.tool_processes() == [], within=3)
    assert desk.end(cid).state == CallState.ORPHANED
    assert mortal.ready() != before
    assert desk.result("add", a=1, b=2) == 3


@in_both_pools
def test_a_claim_by_an_incarnation_that_was_given_up_starts_nothing(desk: Desk, mortal: Worker):
    before, launcher = mortal.ready(), mortal.launcher.pid
    os.kill(launcher, signal.SIGSTOP)
    try:
        [pid] = mortal.pool()
        run(mortal.store, settle(before))
        cid = desk.call("add", a=1, b=2)
        eventually(lambda: is_dead(pid), saying="the pool process left")
        assert desk.state(cid) == CallState.QUEUED
    finally:
        os.kill(launcher, signal.SIGCONT)
    desk.publish(desk.message(cid, "add", suffix=".1r2"))
    mortal.ready()
    desk.publish(desk.message(cid, "add", suffix=".1r3"))
    assert desk.end(cid).result == "3"


@in_both_pools
def test_a_worker_that_cannot_reach_the_store_for_too_long_ends_its_tools(tmp_path: Path, pool: str):
    with (
        a_store(tmp_path / "home") as own,
        _own(pool, own, tmp_path / "log", partition="5") as worker,
    ):
        desk = Desk(worker.store)
        cid, pid = _deaf_call(desk)
        store = _server(worker)
        os.kill(store, signal.SIGSTOP)
        began = time.monotonic()
        try:
            eventually(lambda: below(pid) == [], within=12)
            assert time.monotonic() - began > 4
        finally:
            os.kill(store, signal.SIGCONT)
        assert desk.end(cid).error_kind == "cut off"


@in_both_pools
def test_a_store_that_is_away_for_a_moment_delays_the_end_of_a_call_and_nothing_else(tmp_path: Path, pool: str):
    with a_store(tmp_path / "home") as own, _own(pool, own, tmp_path / "log") as worker:
        desk = Desk(worker.store)
        cid = desk.call("wait_a_moment", duration=0.5)
        desk.running(cid)
        store = _server(worker)
        os.kill(store, signal.SIGSTOP)
        stopped = time.monotonic()
        eventually(lambda: time.monotonic() > stopped + 2)
        os.kill(store, signal.SIGCONT)
        assert desk.end(cid).result == "slept"
        assert desk.result("add", a=1, b=2) == 3


@in_both_pools
def test_a_killed_launcher_takes_its_worker_along_and_the_next_start_sweeps_what_is_left(tmp_path: Path, pool: str):
    with a_store(tmp_path / "home") as own, _own(pool, own, tmp_path / "log") as worker:
        desk, incarnation, celery = Desk(worker.store), worker.ready(), worker.celery
        _, pid = _deaf_call(desk)
        worker.launcher.kill()
        eventually(lambda: is_dead(celery) and is_dead(pid), within=2)
        left = eventually(lambda: marked_processes(incarnation))
        assert sweep_leftovers(worker.store, sparing="") == 0, "it is not known to be dead yet"
        run(worker.store, settle(incarnation))
        with a_worker(own, tmp_path / "log2"):
            eventually(lambda: all(is_dead(one) for one in left))
