"""A durable store that is killed and started again, over and over, under load."""

from __future__ import annotations

from pathlib import Path

from tests.faults.kit.conversation import Plan, Planned
from tests.faults.scene import Scene, a_scene
from tests.waiting import eventually

from errands_config import keys
from errands_config.wire import CallState

RESTARTS = 10
SESSIONS = 8


def ten_calls(number: int) -> Plan:
    tools = ("bash_once", "py_once", "bash_again", "py_again", "bash_once")
    return tuple(
        tuple(Planned(tool, f"k{number}-{turn}-{place}.", 1.2) for place, tool in enumerate(tools)) for turn in range(2)
    )


def restarted(scene: Scene) -> None:
    """Kill the store while calls run, and bring it back on its files."""
    eventually(lambda: scene.store.zcard(keys.WATCH) and running(scene), within=30, saying="calls run")
    scene.deployment.database.server.kill()
    scene.deployment.database.revive()


def running(scene: Scene) -> int:
    return sum(scene.field(cid, "state") == CallState.RUNNING for cid in scene.calls())


def test_no_healthy_call_is_lost_when_the_store_is_killed_ten_times(tmp_path: Path) -> None:
    with a_scene(tmp_path, ten_calls, queues=("default,bash", "bash,python"), maxConcurrency=2) as scene:
        scene.begin(SESSIONS)
        for _ in range(RESTARTS):
            restarted(scene)
        calls = scene.checked_calls(within=90)

    assert [(call.state, call.starts) for call in calls] == [(CallState.COMPLETED, (1,))] * (10 * SESSIONS)
