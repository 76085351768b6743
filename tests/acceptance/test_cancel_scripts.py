"""Cancels, deadlines and ends of scripts on a real worker: nothing of a call is left, and the pool process stays."""

import subprocess
import sys
import time

from tests.acceptance.desk import ROOT, Desk, Worker, below, in_both_pools
from tests.waiting import eventually

from errands_config import keys
from errands_config.settings import Settings
from errands_config.wire import CallState
from errands_workers.app import make_app
from errands_workers.kinds.script_run import GRACE_SECONDS

pytest_plugins = ("tests.acceptance.worker_fixtures",)


def _deaf_call(desk: Desk, seconds: float = 60) -> tuple[str, int]:
    """A call whose child, its children and their `setsid` children ignore TERM, all of them begun."""
    cid = desk.call("bash_fake", mode="deaf", seconds=seconds)
    pid = desk.running(cid)
    eventually(lambda: len(below(pid)) >= 8, saying="the whole tree is there")
    return cid, pid


@in_both_pools
def test_a_tree_that_ignores_term_is_gone_within_two_seconds_and_the_process_takes_the_next_call(
    desk: Desk, worker: Worker
):
    cid, pid = _deaf_call(desk)
    asked = time.monotonic()
    desk.nudge(desk.cancel(cid, "changed my mind"))
    outcome = desk.end(cid)
    assert time.monotonic() - asked < 2
    assert (outcome.state, outcome.by, outcome.reason) == (CallState.CANCELLED, "user", "changed my mind")
    assert outcome.confirmed
    assert (below(pid), worker.tool_processes()) == ([], [])
    following = desk.call("bash_fake", mode="say", text="next")
    assert desk.end(following, within=1).result == "next"
    assert int(desk.field(following, "pid")) == pid


@in_both_pools
def test_a_script_that_obeys_ends_in_its_own_way_and_is_cancelled_all_the_same(desk: Desk):
    cid = desk.call("bash_fake", mode="obey")
    eventually(lambda: any(said.get("line") == "ready" for said in desk.progress(cid)))
    asked = time.monotonic()
    desk.nudge(desk.cancel(cid))
    assert desk.end(cid).state == CallState.CANCELLED
    assert time.monotonic() - asked < GRACE_SECONDS


@in_both_pools
def test_a_script_and_a_child_of_it_that_obey_are_over_without_waiting_for_the_grace(desk: Desk):
    cid = desk.call("bash_fake", mode="family")
    eventually(lambda: any(said.get("line") == "ready" for said in desk.progress(cid)))
    asked = time.monotonic()
    desk.nudge(desk.cancel(cid))
    assert desk.end(cid).state == CallState.CANCELLED
    assert time.monotonic() - asked < GRACE_SECONDS


@in_both_pools
def test_a_wish_without_a_nudge_is_met_at_the_next_beat(desk: Desk, worker: Worker):
    cid = desk.call("bash_fake", mode="sleep")
    desk.running(cid)
    asked = time.monotonic()
    desk.cancel(cid)
    assert desk.end(cid).state == CallState.CANCELLED
    assert time.monotonic() - asked < 3
    assert worker.tool_processes() == []


@in_both_pools
def test_a_nudge_without_a_wish_means_nothing(desk: Desk, worker: Worker):
    cid = desk.call("wait_a_moment", duration=0.5)
    pid = desk.running(cid)
    for _ in range(20):
        subprocess.run(["kill", "-USR1", str(pid)], check=True)
    assert desk.end(cid).result == "slept"
    assert worker.pool() == [pid]


@in_both_pools
def test_a_script_that_outstays_its_time_is_ended_with_its_tree(desk: Desk, worker: Worker):
    began = time.monotonic()
    cid, pid = _deaf_call(desk, seconds=1)
    outcome = desk.end(cid)
    assert (outcome.state, outcome.timeout_seconds) == (CallState.TIMED_OUT, 1)
    assert time.monotonic() - began < 3
    assert (below(pid), worker.tool_processes()) == ([], [])


@in_both_pools
def test_what_a_script_leaves_behind_ends_with_it(desk: Desk, worker: Worker):
    assert desk.result("bash_fake", mode="leave_behind") == "done"
    assert worker.tool_processes() == []


@in_both_pools
def test_an_endless_output_is_stopped_within_bounds(desk: Desk):
    cid = desk.call("bash_fake", mode="endless")
    eventually(lambda: len(desk.progress(cid)) > 1)
    assert desk.progress(cid)[-1]["line"] == "a line of an endless output"
    desk.nudge(desk.cancel(cid))
    assert desk.end(cid).state == CallState.CANCELLED


@in_both_pools
def test_a_revoke_from_celerys_command_line_cancels_a_running_call_as_operator(desk: Desk, worker: Worker):
    cid, pid = _deaf_call(desk)
    assert cid in _control(worker, "revoke", cid)
    outcome = desk.end(cid)
    assert (outcome.state, outcome.by) == (CallState.CANCELLED, "operator")
    assert (worker.pool(), worker.tool_processes()) == ([pid], [])


@in_both_pools
def test_a_terminate_with_kill_of_a_repeated_message_kills_no_pool_process(
    desk: Desk, worker: Worker, worker_settings: Settings
):
    cid, pid = _deaf_call(desk)
    make_app(worker_settings).control.terminate(f"{cid}.1r2", signal="KILL")
    assert desk.end(cid).by == "operator"
    assert (worker.pool(), worker.tool_processes()) == ([pid], [])


def test_a_revoke_of_a_queued_call_ends_it_at_once_and_it_never_starts(desk: Desk, worker: Worker):
    busy = desk.call("bash_fake", mode="sleep")
    desk.running(busy)
    queued = desk.call("add", a=1, b=2)
    _control(worker, "revoke", queued)
    outcome = desk.end(queued, within=1)
    assert (outcome.state, outcome.by) == (CallState.CANCELLED, "operator")
    desk.nudge(desk.cancel(busy))
    assert desk.result("add", a=3, b=4) == 7
    assert desk.field(queued, "started_at") == ""
    assert desk.ends(queued) == ["cancelled"]


@in_both_pools
def test_a_revoke_by_somebody_when_a_wish_stands_keeps_the_first_wish(
    desk: Desk, worker: Worker, worker_settings: Settings
):
    cid, _ = _deaf_call(desk)
    desk.cancel(cid, "first")
    make_app(worker_settings).control.revoke(cid)
    outcome = desk.end(cid)
    assert (outcome.by, outcome.reason) == ("user", "first")


@in_both_pools
def test_a_nudge_about_a_deadline_is_not_taken_for_an_operators_cancel(
    desk: Desk, worker: Worker, worker_settings: Settings
):
    cid, _ = _deaf_call(desk)
    worker.store.hset(keys.wishes(worker.ready()), cid, "deadline")
    make_app(worker_settings).control.revoke(cid)
    assert desk.end(cid).state == CallState.TIMED_OUT


def test_commands_that_mean_no_call_are_refused(worker: Worker, worker_settings: Settings):
    control = make_app(worker_settings).control
    [answer] = control.revoke("../../etc", reply=True, limit=1)
    assert "no id of a call" in repr(answer)
    [answer] = control.broadcast("revoke_by_stamped_headers", arguments={"headers": {"a": "b"}}, reply=True, limit=1)
    assert "revoke them by id" in repr(answer)


@in_both_pools
def test_two_hundred_cancels_at_the_end_of_a_call_leave_one_end_each_and_the_next_call_whole(
    desk: Desk, worker: Worker
):
    pool = worker.pool()
    states: list[CallState] = []
    for n in range(200):
        cid = desk.call("wait_a_moment", duration=0.004) if n % 2 else desk.call("bash_fake", mode="say", text="x")
        _after(n % 20 / 1500)  # from its publication to a moment after its end: 0 to 13 ms
        desk.nudge(desk.cancel(cid))
        following = desk.call("add", a=n, b=1)
        assert desk.end(following).result == str(n + 1)
        states.append(desk.end(cid).state)
        assert desk.ends(cid) == [str(states[-1])]
        assert len(desk.mails(cid, "toolCallFinished")) == 1
    assert set(states) == {CallState.COMPLETED, CallState.CANCELLED}
    assert worker.pool() == pool


def _after(seconds: float) -> None:
    """Let an exact time pass: here the moment itself is what is tested."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


def _control(worker: Worker, *words: str) -> str:
    """What `celery control` prints when it asks the worker."""
    url = worker.store.connection_pool.connection_kwargs["path"]
    done = subprocess.run(
        [sys.executable, "-m", "celery", "-A", "errands_workers", "control", *words],
        env={"ERRANDS_REDIS_URL": f"unix://{url}?db=0", "PATH": "/usr/bin:/bin"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr
