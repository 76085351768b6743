"""Workers that are frozen, and tools that kill their worker: one end for each call, and nothing left of it."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from tests.faults.kit.conversation import Plan, Planned
from tests.faults.kit.processes import send
from tests.faults.scene import a_scene
from tests.waiting import eventually

from errands_config.scripts.calls import MOST_LOST
from errands_config.wire import CallState

FROZEN_SECONDS = 20


def a_short_and_a_long_call(number: int) -> Plan:
    return ((Planned("py_once", f"short{number}.", 4), Planned("bash_once", f"long{number}.", 600)),)


def test_a_frozen_worker_loses_its_calls_once_and_its_late_finish_is_refused(tmp_path: Path) -> None:
    with a_scene(tmp_path, a_short_and_a_long_call, queues=("default,bash,python",)) as scene:
        scene.begin()
        short, long = scene.call_of("py_once"), scene.call_of("bash_once")
        scene.begun(short, long)
        [worker] = scene.deployment.workers
        pool, before = worker.pool(), worker.incarnations(scene.store)
        worker.freeze()
        thaw_at = time.monotonic() + FROZEN_SECONDS
        for call in (short, long):
            scene.becomes(call, CallState.ORPHANED)
        eventually(scene.are_over, within=20, saying="the model has been told")
        assert scene.deployment.begun_for_calls(), "the script is still there"
        eventually(lambda: time.monotonic() > thaw_at, within=FROZEN_SECONDS + 1)

        # its pool first: else the launcher, which hears that it was given up, kills a tool before it can finish
        send(pool, signal.SIGCONT)
        eventually(lambda: scene.field(short, "late"), saying="the late finish is refused")
        worker.thaw()

        eventually(lambda: not scene.deployment.begun_for_calls(), saying="the tool is killed")
        eventually(lambda: worker.is_ready(scene.store) and not before & worker.incarnations(scene.store), within=30)
        calls = {call.id: call for call in scene.checked_calls()}

    assert (calls[short].state, calls[short].ends, calls[short].late) == (CallState.ORPHANED, (1,), 1)
    assert (calls[long].state, calls[long].ends) == (CallState.ORPHANED, ())


def test_a_tool_that_kills_its_process_each_time_is_given_up_while_its_neighbours_go_on(tmp_path: Path) -> None:
    def plan(number: int) -> Plan:
        if number == 1:
            return ((Planned("py_poison_again", "poison."),),)
        return tuple((Planned("py_once", f"k{number}-{turn}.", 0.5),) for turn in range(6))

    with a_scene(tmp_path, plan, queues=("default,bash,python",), times=10) as scene:
        scene.begin(3)
        poison = scene.call_of("py_poison_again")
        scene.becomes(poison, CallState.FAILED, within=60)
        error = scene.field(poison, "error")
        calls = {call.id: call for call in scene.checked_calls()}

    assert error.startswith(f"given up after {MOST_LOST} attempts: ")
    assert calls.pop(poison).starts == tuple(range(1, MOST_LOST + 1))
    assert {call.state for call in calls.values()} == {CallState.COMPLETED}


def test_a_worker_all_of_whose_processes_are_killed_leaves_no_call_without_an_end(tmp_path: Path) -> None:
    def plan(number: int) -> Plan:
        return ((Planned("bash_once", f"once{number}.", 3), Planned("bash_again", f"again{number}.", 3)),)

    with a_scene(tmp_path, plan, queues=("default,bash,python",)) as scene:
        scene.begin()
        once, again = scene.call_of("bash_once"), scene.call_of("bash_again")
        scene.begun(once, again)
        [worker] = scene.deployment.workers
        for pid in worker.everything():
            os.kill(pid, signal.SIGKILL)
        worker.kill()
        worker.start()
        calls = {call.id: call for call in scene.checked_calls()}

    assert (calls[once].state, calls[once].starts) == (CallState.ORPHANED, (1,))
    assert (calls[again].state, calls[again].starts) == (CallState.COMPLETED, (1, 2))
