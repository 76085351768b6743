"""What stands around a tool, on a real worker: the order written is the order that happens."""

import itertools
import time
from pathlib import Path

import pytest
from tests.acceptance.desk import Desk, Worker, in_both_pools, marked_processes, processes_of_call
from tests.waiting import eventually

from errands_config.wire import After, Around, Before, CallState, Hook, Retries, Timeout, Truncate
from errands_workers.processes import is_dead

pytest_plugins = ("tests.acceptance.worker_fixtures",)

NOTE = After(hook=Hook(kind="command", name="note"))
TIMED_OUT = "tool call timed out after 0.3s"
SHORT = Timeout(seconds=0.3)
FLAKY = {"failures": 99}
SLOW = {"seconds": 1000.0}


@in_both_pools
@pytest.mark.parametrize(
    ("around", "tool", "arguments", "tries", "state", "text"),
    [
        ((Retries(count=2), SHORT), "slow", SLOW, 3, CallState.FAILED, f"tool call failed: {TIMED_OUT}"),
        ((SHORT, Retries(count=9)), "slow", SLOW, 1, CallState.TIMED_OUT, TIMED_OUT),
        ((Retries(count=2, on=("error",)), SHORT), "slow", SLOW, 1, CallState.TIMED_OUT, TIMED_OUT),
        ((SHORT, Retries(count=9, backoff_seconds=9)), "flaky", FLAKY, 1, CallState.TIMED_OUT, TIMED_OUT),
        ((SHORT, Timeout(seconds=9)), "slow", SLOW, 1, CallState.TIMED_OUT, TIMED_OUT),
        ((Timeout(seconds=9), SHORT), "slow", SLOW, 1, CallState.TIMED_OUT, TIMED_OUT),
        ((NOTE, SHORT), "slow", SLOW, 1, CallState.TIMED_OUT, f"{TIMED_OUT}\n\n[hook note: seen]"),
        ((NOTE, Truncate(max_bytes=3)), "flaky", {"failures": 0}, 1, CallState.COMPLETED,
         "try\n[truncated: result exceeded 3 bytes]\n\n[hook note: seen]"),
        ((Truncate(max_bytes=9), NOTE), "flaky", {"failures": 0}, 1, CallState.COMPLETED,
         "try 1\n\n[h\n[truncated: result exceeded 9 bytes]"),
        ((NOTE, Retries(count=1)), "flaky", FLAKY, 2, CallState.FAILED,
         "tool call failed: ValueError: try 2\n\n[hook note: seen]"),
        ((Retries(count=1), NOTE), "flaky", FLAKY, 2, CallState.FAILED,
         "tool call failed: ValueError: try 2\n\n[hook note: seen]"),
        ((Retries(count=1), Retries(count=1)), "flaky", FLAKY, 4, CallState.FAILED,
         "tool call failed: tool call failed: ValueError: try 4"),
        ((Retries(count=5),), "flaky", {"failures": 2}, 3, CallState.COMPLETED, "try 3"),
        ((), "flaky_by_nature", {"failures": 2}, 3, CallState.COMPLETED, "try 3"),
        ((Retries(count=1),), "flaky_by_nature", FLAKY, 2, CallState.FAILED, "tool call failed: ValueError: try 2"),
    ],
)  # fmt: skip
def test_the_order_written_is_the_order_that_happens(
    desk: Desk, tmp_path: Path, around: tuple[Around, ...], tool: str, arguments: dict[str, object], tries: int,
    state: CallState, text: str,
):  # fmt: skip
    path = tmp_path / "tries"
    outcome = desk.end(desk.call(tool, {"path": str(path), **arguments}, around=around))
    assert (outcome.state, outcome.result or outcome.error) == (state, text)
    assert len(path.read_text().splitlines()) == tries


@in_both_pools
def test_a_timeout_ends_a_deaf_tree_before_the_next_try(desk: Desk, worker: Worker):
    before = marked_processes(worker.ready())
    around = (Retries(count=1), Timeout(seconds=1))
    cid = desk.call("bash_fake", mode="deaf", around=around)
    eventually(lambda: len(_new(worker, before)) >= 9, saying="the first try runs")
    first = _new(worker, before)
    eventually(lambda: _retries(desk, cid), saying="the second try is announced")
    assert all(map(is_dead, first))
    eventually(lambda: len(_new(worker, before)) >= 9, saying="the second try runs")
    outcome = desk.end(cid)
    assert outcome.error == "tool call failed: tool call timed out after 1s"
    assert _new(worker, before) == []


def _new(worker: Worker, before: list[int]) -> list[int]:
    return [pid for pid in marked_processes(worker.ready()) if pid not in before]


def _retries(desk: Desk, cid: str) -> list[int]:
    said = [entry for entry in desk.progress(cid) if isinstance(entry, dict)]
    return [entry["attemptsLeft"] for entry in said if entry.get("event") == "retrying"]


@in_both_pools
def test_every_retry_is_progress_and_comes_after_its_pause(desk: Desk, tmp_path: Path):
    path = tmp_path / "tries"
    around = (Retries(count=3, backoff_seconds=0.1),)
    cid = desk.call("flaky", path=str(path), failures=3, around=around)
    assert desk.end(cid).result == "try 4"
    assert _retries(desk, cid) == [3, 2, 1]
    began = [float(line) for line in path.read_text().splitlines()]
    quick = desk.call("flaky", path=str(path), failures=7, around=(Retries(count=3),))
    assert desk.end(quick).result == "try 8"
    assert _retries(desk, quick) == [3, 2, 1]
    pauses = [later - earlier for earlier, later in itertools.pairwise(began)]
    assert all(pause >= least for pause, least in zip(pauses, [0.1, 0.2, 0.4], strict=True))


@in_both_pools
def test_a_tool_sees_the_time_of_its_try_and_not_that_of_the_call(desk: Desk, tmp_path: Path):
    path = tmp_path / "tries"
    desk.end(desk.call("slow", {"path": str(path), "seconds": 0.0}, around=(Timeout(seconds=5),)))
    assert 0 < float(path.read_text()) <= 5


@in_both_pools
def test_the_deadline_of_the_whole_call_ends_the_retries(desk: Desk, tmp_path: Path):
    path = tmp_path / "tries"
    around = (Retries(count=9), Timeout(seconds=30))
    outcome = desk.end(desk.call("slow", {"path": str(path), **SLOW}, seconds=0.5, around=around))
    assert (outcome.state, outcome.timeout_seconds, outcome.error) == (CallState.TIMED_OUT, 0.5, "")
    assert len(path.read_text().splitlines()) == 1


@in_both_pools
@pytest.mark.parametrize(
    ("around", "tool"),
    [
        ((Retries(count=9, backoff_seconds=60),), "flaky"),
        ((Retries(count=9), Timeout(seconds=60)), "slow"),
        ((Retries(count=9), Before(hook=Hook(kind="command", name="hang"))), "flaky"),
    ],
    ids=["in a backoff", "in a try", "in a hook"],
)
def test_a_cancel_ends_the_whole_call_at_once(
    desk: Desk, worker: Worker, tmp_path: Path, around: tuple[Around, ...], tool: str
):
    path = tmp_path / "tries"
    arguments = {"path": str(path), **(FLAKY if tool == "flaky" else SLOW)}
    cid = desk.call(tool, arguments, around=around)
    eventually(lambda: path.exists() or len(processes_of_call(cid)) >= 3, saying="it is where it is cancelled")
    asked = time.monotonic()
    desk.nudge(desk.cancel(cid, "enough"))
    outcome = desk.end(cid)
    assert (outcome.state, outcome.reason, outcome.confirmed) == (CallState.CANCELLED, "enough", True)
    assert time.monotonic() - asked < 3
    assert processes_of_call(cid) == []
    tries = path.read_text().splitlines() if path.exists() else []
    assert len(tries) <= 1
    assert desk.result("add", a=1, b=2) == 3


def test_the_timeout_of_a_try_that_cannot_be_stopped_ends_the_call_as_timed_out(desk: Desk, worker: Worker):
    pool = worker.pool()
    outcome = desk.end(desk.call("fake", mode="deaf", around=(Retries(count=3), SHORT)))
    assert (outcome.state, outcome.error) == (CallState.TIMED_OUT, TIMED_OUT)
    assert desk.result("add", a=1, b=2) == 3
    assert worker.pool() != pool
