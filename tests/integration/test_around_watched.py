"""Hooks that go on, watched by a real supervisor in this process with a shorter limit than the worker's half minute."""

import threading
import time
from pathlib import Path
from typing import Any

import pytest
import redis
from tests.acceptance.desk import Desk
from tests.tools import wrapped
from tests.tools.hook_scripts import write_hooks
from tests.waiting import eventually

from errands_config import keys
from errands_config.scripts.attempts import ClaimRefused, Holder, claim, finish
from errands_config.scripts.script import run
from errands_config.scripts.workers import beat
from errands_config.settings import Settings
from errands_config.wire import After, Around, Before, CallState, Claimed, Hook, Outcome, Retries, TaskMessage, Timeout
from errands_workers.around.asking import Asking
from errands_workers.around.given import Given
from errands_workers.around.hooks import Hooks
from errands_workers.around.pieces import CallOver, Pieces
from errands_workers.around.tool_call import tool_call
from errands_workers.around.wrapped import layers
from errands_workers.attempt import Attempt, Stop
from errands_workers.bindings import Values
from errands_workers.board import Board
from errands_workers.kinds.function import FunctionTool
from errands_workers.kinds.kind import RunEnd
from errands_workers.recent_finishes import RecentFinishes
from errands_workers.reports import Reporter
from errands_workers.secrets import Secrets
from errands_workers.several_at_once import SeveralAtOnce
from errands_workers.supervisor import Supervisor
from errands_workers.tool import Tool

HOLDER = Holder("w", 4711)
LIMIT = 0.6
HANG = Hook(kind="command", name="hang")
LOOK = Hook(kind="tool", name="judge")


class Scene:
    """Calls of a claimed record, run in this thread as a worker of the threads pool would."""

    def __init__(self, desk: Desk, settings: Settings, hooks: Path) -> None:
        self._desk = desk
        self._manner = SeveralAtOnce("w", 1)
        self._supervisor = Supervisor(settings, self._manner, Board.create().slot(0), lambda: 0.0, RecentFinishes())
        self._supervisor.start()
        self._reporter = Reporter(desk.store)
        self._reporter.start()
        tools = {"judge": FunctionTool(wrapped.judge)}
        self._hooks = Hooks((hooks,), tools, longest_seconds=LIMIT)

    def run(self, around: tuple[Around, ...], path: Path, *, text: str = "ran") -> RunEnd:
        """Run `leave_trace` with this around it."""
        return self.call(wrapped.leave_trace, around, self.claimed(path, text, around))

    def claimed(self, path: Path, text: str, around: tuple[Around, ...]) -> Claimed:
        """A call that this process holds."""
        cid = self._desk.call("leave_trace", {"path": str(path), **({"text": text} if text else {})}, around=around)
        message = TaskMessage(call=cid, session=self._desk.sid, queue="default", attempt=1, published=1)
        taken = run(self._desk.store, claim(message, f"token of {cid}", HOLDER))
        assert not isinstance(taken, ClaimRefused)
        return taken

    def call(self, tool: Tool[..., Any], around: tuple[Around, ...], taken: Claimed) -> RunEnd:
        """Run a call to its end."""
        attempt = Attempt(taken, "default", HOLDER, self._manner.offspring_of(taken.call))
        pieces = Pieces(attempt, self._supervisor.watching, self._manner.ready_for_tool)
        call = tool_call(taken, FunctionTool(tool), Values(self._desk.store, Secrets()), 1_000_000)
        reports = self._reporter.of(taken, per_second=50, on_lost=lambda: attempt.ask_to_stop(Stop("lost")))
        with self._manner.running(taken.call):
            try:
                return layers(around, Asking(self._hooks, pieces, call), reports)(Given(taken.arguments, pieces.whole))
            except CallOver as over:
                return over.outcome
            finally:
                reports.close(completed=True)
                assert not attempt.offspring.lives()
                self.settle(taken)

    def nudge(self) -> None:
        """Have the supervisor look."""
        self._manner.nudges.nudge()

    def settle(self, taken: Claimed) -> None:
        """Have the call ended by somebody."""
        run(self._desk.store, finish(taken, HOLDER, "default", Outcome(state=CallState.COMPLETED)))


@pytest.fixture
def scene(store: redis.Redis, settings: Settings, tmp_path: Path) -> Scene:
    run(store, beat("w", {"host": "here"}))
    return Scene(Desk(store), settings, write_hooks(tmp_path / "hooks"))


@pytest.mark.parametrize(("hook", "text"), [(HANG, "ran"), (LOOK, "look")], ids=["a deaf command", "a tool"])
def test_a_hook_before_that_does_not_answer_in_time_keeps_the_tool_from_running(
    scene: Scene, tmp_path: Path, hook: Hook, text: str
):
    began = time.monotonic()
    end = scene.run((Before(hook=hook),), tmp_path / "trace", text=text)
    assert isinstance(end, Outcome)
    assert (end.state, end.error) == (CallState.DENIED, f"blocked by policy: hook {hook.name}: no answer within 0.6 s")
    assert not (tmp_path / "trace").exists()
    assert LIMIT <= time.monotonic() - began < 5


@pytest.mark.parametrize(("hook", "text"), [(HANG, "ran"), (LOOK, "look")], ids=["a deaf command", "a tool"])
def test_a_hook_after_that_does_not_answer_in_time_changes_nothing(scene: Scene, tmp_path: Path, hook: Hook, text: str):
    end = scene.run((After(hook=hook),), tmp_path / "trace", text=text)
    assert isinstance(end, Outcome)
    assert (end.state, end.result) == (CallState.COMPLETED, text)
    assert (tmp_path / "trace").read_text() == f"{text}\n"


@pytest.mark.parametrize(
    "around", [(Timeout(seconds=0.2), Before(hook=HANG)), (Timeout(seconds=0.2), After(hook=HANG))]
)
def test_a_timeout_around_a_hook_that_hangs_ends_both(scene: Scene, tmp_path: Path, around: tuple[Around, ...]):
    end = scene.run(around, tmp_path / "trace")
    assert isinstance(end, Outcome)
    assert (end.state, end.error) == (CallState.TIMED_OUT, "tool call timed out after 0.2s")


@pytest.mark.parametrize("tool", [wrapped.report_for_ever, wrapped.report_and_fail], ids=["in a try", "in a pause"])
def test_a_call_that_is_this_workers_no_more_is_not_tried_again(scene: Scene, tmp_path: Path, tool: Tool[..., Any]):
    path, around = tmp_path / "trace", (Retries(count=9, backoff_seconds=3),)
    taken = scene.claimed(path, "", around)

    elsewhere = threading.Thread(target=lambda: eventually(path.exists) and scene.settle(taken))
    elsewhere.start()
    end = scene.call(tool, around, taken)
    elsewhere.join()
    assert isinstance(end, Outcome)
    assert (end.state, end.error_kind) == (CallState.FAILED, "lost")
    assert path.read_text() == "ran\n"


def test_a_deadline_that_the_store_has_passed_ends_the_whole_call_whatever_this_machines_clock_says(
    scene: Scene, store: redis.Redis, tmp_path: Path
):
    path, around = tmp_path / "trace", (Retries(count=9), Timeout(seconds=30))
    taken = scene.claimed(path, "", around)

    def wish() -> None:
        eventually(path.exists)
        store.hset(keys.wishes(HOLDER.worker), taken.call, "deadline")
        scene.nudge()

    elsewhere = threading.Thread(target=wish)
    elsewhere.start()
    end = scene.call(wrapped.report_for_ever, around, taken)
    elsewhere.join()
    assert end == Outcome(state=CallState.TIMED_OUT, timeout_seconds=60)
    assert path.read_text() == "ran\n"
