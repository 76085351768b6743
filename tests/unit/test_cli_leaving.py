"""What a person is told of calls whose worker goes with them, and what such a run makes of its agent."""

import json

import pytest

from errands_config.agent import parse_agent
from errands_config.wire import CallState
from errands_orchestrator.calls import CallRow
from errands_orchestrator.cli.draining import fate
from errands_orchestrator.cli.ending import how_to_go_on
from errands_orchestrator.cli.running import waiting
from errands_orchestrator.cli.watching import Ending
from errands_orchestrator.definitions import StoredAgent


@pytest.mark.parametrize(
    ("state", "told"),
    [
        (CallState.COMPLETED, "✓ run_tests (call_1): completed"),
        (CallState.ORPHANED, "✗ run_tests (call_1): orphaned: it is lost with its worker"),
        (CallState.QUEUED, "⏳ run_tests (call_1): pending: given back, the next worker takes it"),
        (CallState.RUNNING, "⏳ run_tests (call_1): running: its worker has not ended; it is settled when it does"),
    ],
)
def test_the_fate_of_a_call_is_told_in_a_line(state: CallState, told: str) -> None:
    assert fate(CallRow("c", "s", "run_tests", "call_1", state, 1, "default", "", "w", 0, 0, 0, None)) == told


def test_an_agent_that_would_detach_waits_and_is_else_the_same() -> None:
    written = {"slug": "tester", "executionMode": "asynchronous", "onRunEnd": "detach", "maxConcurrency": 2}
    made = StoredAgent(file=parse_agent(json.dumps(written), origin="a test").canonical, script="[]")

    read = waiting(made)

    assert json.loads(read.file) == {**written, "onRunEnd": "wait"}
    assert (read.script, read.digest != made.digest) == ("[]", True)


def test_how_to_go_on_depends_on_whether_a_run_is_left() -> None:
    resume = "errands session resume sid"

    assert how_to_go_on("sid", Ending("paused", "no key"), None).endswith(f"Go on with: {resume}")
    assert how_to_go_on("sid", Ending("timeout", left=True), None).endswith(f"Go on with: {resume}")
    for ending in (Ending("interrupted", stopped=True), Ending("interrupted", left=True, stopped=True)):
        assert how_to_go_on("sid", ending, None).endswith(f"Go on with: errands session send sid TEXT && {resume}")
