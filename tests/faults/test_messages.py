"""Celery's messages are permissions: however many copies there are of one, its call is started once."""

from __future__ import annotations

from pathlib import Path

from tests.faults.kit.broker import Broker
from tests.faults.kit.conversation import Plan, Planned
from tests.faults.scene import Scene, a_scene
from tests.waiting import eventually

from errands_config.wire import CallState

EVERYWHERE = "default,bash,python"
COPIES = 4
"""Beside the message itself."""


def five_calls(number: int) -> Plan:
    tools = ("bash_once", "py_once", "bash_again", "py_again", "bash_once")
    return (tuple(Planned(tool, f"k{number}-{place}.", 0.4) for place, tool in enumerate(tools)),)


def copied(scene: Scene, done: set[str]) -> bool:
    """Push four more messages of each call that has not ended and had none; True once every session is over."""
    broker = Broker(scene.store)
    for cid in scene.calls():
        if cid not in done and scene.field(cid, "state") in (CallState.QUEUED, CallState.RUNNING):
            done.add(cid)
            queue, text = broker.published(cid)
            broker.push(queue, [text] * COPIES)
    return scene.are_over()


def test_a_call_whose_message_comes_five_times_to_three_workers_is_started_once(tmp_path: Path) -> None:
    done: set[str] = set()
    with a_scene(tmp_path, five_calls, queues=(EVERYWHERE,) * 3) as scene:
        scene.begin(8)
        eventually(lambda: copied(scene, done), within=60, saying="every session ends")
        calls = scene.checked_calls()

    assert {call.id for call in calls} == done, "every call had its copies"
    assert [(call.state, call.starts) for call in calls] == [(CallState.COMPLETED, (1,))] * 40


def test_a_call_whose_tool_no_worker_offers_any_more_ends_after_its_queue_timeout(tmp_path: Path) -> None:
    def one_call(number: int) -> Plan:
        return ((Planned("bash_once", f"k{number}."),),)

    with a_scene(tmp_path, one_call, queues=(EVERYWHERE,), queueTimeoutSeconds=2) as scene:
        scene.begin()
        scene.becomes(scene.call_of("bash_once"), CallState.COMPLETED)
        [worker] = scene.deployment.workers
        worker.stop()
        assert worker.wait(30) == 0

        scene.one_more()
        eventually(lambda: len(scene.calls()) == 2, saying="the second session calls it")
        second = scene.calls()[1]
        scene.becomes(second, CallState.FAILED)

        assert scene.field(second, "error") == "no worker offers this tool"
        [_, call] = scene.checked_calls()
        assert call.starts == ()
