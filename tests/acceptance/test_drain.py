"""A worker that is told to go: what its calls are told, get, and become."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.desk import Desk, Worker, a_store, a_threads_worker, a_worker, in_both_pools
from tests.waiting import eventually

from errands_config import keys
from errands_config.embedded import EmbeddedStore
from errands_config.settings import Settings
from errands_config.store import plain
from errands_config.wire import CallState


@pytest.fixture
def pool() -> str:
    return "prefork"


@pytest.fixture
def there(tmp_path: Path) -> Iterator[Settings]:
    with a_store(tmp_path / "home") as settings:
        yield settings


def a_worker_of(pool: str, there: Settings, folder: Path, *, drain: float = 25) -> AbstractContextManager[Worker]:
    log = folder / "log"
    if pool == "threads":
        return a_threads_worker(there, log, ERRANDS_DRAIN_SECONDS=str(drain))
    words = ("--slots", "2", "--module", "tests.tools.cooperative")
    return a_worker(there, log, *words, ERRANDS_DRAIN_SECONDS=str(drain))


def ended_line(worker: Worker) -> str:
    return next(line for line in worker.log.read_text().splitlines() if "worker.ended" in line)


@in_both_pools
def test_a_call_that_is_told_in_time_comes_to_its_end(pool: str, there: Settings, tmp_path: Path) -> None:
    with a_worker_of(pool, there, tmp_path) as worker:
        desk = Desk(worker.store)
        cid = desk.call("until_told_to_leave")
        eventually(lambda: "working" in desk.progress(cid))

        assert worker.stop() == 0

        assert desk.end(cid).result == "put away"
        assert '"lost":0' in ended_line(worker)


@in_both_pools
def test_calls_that_go_on_too_long_are_given_back_where_safe_and_else_orphaned(
    pool: str, there: Settings, tmp_path: Path
) -> None:
    with a_worker_of(pool, there, tmp_path, drain=0.5) as worker:
        desk = Desk(worker.store)
        marked, other = desk.call("watch", reruns=1), desk.call("watch")
        desk.running(marked)
        desk.running(other)

        began = time.monotonic()
        assert worker.stop() == 1
        assert time.monotonic() - began < 10

        assert (desk.state(marked), desk.field(marked, "attempt")) == (CallState.QUEUED, "2")
        assert (desk.end(other).state, desk.end(other).reason) == (CallState.ORPHANED, "its worker was told to stop")
        assert desk.field(marked, "lost") == "0"
        assert '"lost":1' in ended_line(worker)
        assert '"given_back":1' in ended_line(worker)
        assert worker.tool_processes() == []


def test_a_second_request_to_stop_ends_the_calls_at_once(there: Settings, tmp_path: Path) -> None:
    with a_worker_of("prefork", there, tmp_path) as worker:
        desk = Desk(worker.store)
        cid = desk.call("watch")
        desk.running(cid)

        worker.launcher.send_signal(signal.SIGTERM)
        eventually(lambda: "worker.stopping" in worker.log.read_text())
        assert worker.stop(within=5) == 1

        assert desk.end(cid).state == CallState.ORPHANED


def test_a_worker_that_is_leaving_takes_no_further_call(there: Settings, tmp_path: Path) -> None:
    with a_worker_of("prefork", there, tmp_path) as worker:
        desk = Desk(worker.store)
        cid = desk.call("until_told_to_leave")
        desk.running(cid)
        worker.launcher.send_signal(signal.SIGTERM)
        eventually(lambda: "worker.stopping" in worker.log.read_text())

        late = desk.call("until_told_to_leave")
        assert worker.launcher.wait(20) == 0

        assert (desk.end(cid).state, desk.state(late)) == (CallState.COMPLETED, CallState.QUEUED)


def test_a_worker_that_meets_another_store_stops_what_it_holds_and_serves_the_new_one(tmp_path: Path) -> None:
    with a_store(tmp_path / "home") as there, a_worker_of("prefork", there, tmp_path) as worker:
        desk = Desk(worker.store)
        cid = desk.call("watch")
        process = desk.running(cid)
        before = worker.ready()

        worker.store.flushall()  # as another store at the same place would be

        eventually(lambda: "worker.store_replaced" in worker.log.read_text())
        eventually(lambda: not _lives(process), saying="the old store's call has been ended")
        eventually(lambda: before not in worker.incarnations() and worker.ready() != before, within=20)
        assert Desk(worker.store).result("add", a=1, b=2) == 3


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_finish_that_a_store_forgot_in_its_crash_is_sent_again(tmp_path: Path) -> None:
    with EmbeddedStore(tmp_path / "home") as store:
        there = Settings(redis_url=store.url, home=tmp_path / "home")
        with a_worker_of("prefork", there, tmp_path) as worker, plain(there) as client:
            desk = Desk(client)
            cid = desk.call("add", a=1, b=2)
            desk.end(cid)
            token = _as_if_running(client, cid)

            store.server.kill()
            store.revive()

            eventually(lambda: desk.state(cid).is_final, within=15, saying="the forgotten end is there again")
            assert (desk.end(cid).result, desk.field(cid, "ended_with")) == ("3", token)
            assert "worker.finishes_sent_again" in worker.log.read_text()


def _as_if_running(client: Any, cid: str) -> str:
    """Take the end of a call back, as the crash of a store that wrote once a second may have done; its token."""
    token: str = client.hget(keys.call(cid), "token")
    ended = ("ended_at", "ended_with", "end_seq", "result", "result_type")
    client.hdel(keys.call(cid), *ended)
    client.hset(keys.call(cid), "state", "running")
    return token
