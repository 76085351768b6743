"""Hooks before and after a tool, on a real worker: what they are asked, what they may answer, and how they fail."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.desk import Desk, Worker, in_both_pools, marked_processes
from tests.tools.hook_scripts import SCRIPTS

from errands_config.wire import After, Around, Before, CallState, Hook, Outcome, Retries

pytest_plugins = ("tests.acceptance.worker_fixtures",)


def before(name: str) -> tuple[Around, ...]:
    return (Before(hook=Hook(kind="command", name=name)),)


def after(name: str) -> tuple[Around, ...]:
    return (After(hook=Hook(kind="command", name=name)),)


TOOL_BEFORE: tuple[Around, ...] = (Before(hook=Hook(kind="tool", name="judge")),)
TOOL_AFTER: tuple[Around, ...] = (After(hook=Hook(kind="tool", name="judge")),)

FAILURES = {
    "exit_1": ("exit code 1", "exit code 1\nbroken: 7"),
    "killed": ("signal SIGKILL", "signal SIGKILL"),
    "garbage": ("unreadable answer", "its answer is not UTF-8 text"),
    "silent": ("unreadable answer", "its answer cannot be read"),
    "no_json": ("unreadable answer", "its answer cannot be read"),
    "two_documents": ("unreadable answer", "its answer cannot be read"),
    "unknown_action": ("unreadable answer", "its answer cannot be read"),
    "misspelt": ("unreadable answer", "its answer cannot be read"),
    "large": ("answer too large", "its answer is larger than 1 MiB"),
    "not_executable": ("cannot be started", "not a regular executable; `chmod +x` it"),
    "world_writable": ("cannot be started", "everybody may write to it; `chmod o-w` it"),
    "a_folder": ("cannot be started", "not a regular executable; `chmod +x` it"),
    "missing": ("no such hook", "not in the folders of hooks of this worker (--hooks)"),
    "../outside": ("no such hook", "not in the folders of hooks of this worker (--hooks)"),
    "..": ("no such hook", "not in the folders of hooks of this worker (--hooks)"),
    "": ("no such hook", "not in the folders of hooks of this worker (--hooks)"),
    "/bin/true": ("no such hook", "not in the folders of hooks of this worker (--hooks)"),
    "link_outside": ("no such hook", "not in the folders of hooks of this worker (--hooks)"),
}
"""What is logged and what the model reads of each way in which a command hook can fail."""


def trace(desk: Desk, path: Path, around: tuple[Around, ...], *, text: str = "ran") -> Outcome:
    """The end of a call that leaves a trace if its tool runs."""
    return desk.end(_trace(desk, path, around, text=text))


def _trace(desk: Desk, path: Path, around: tuple[Around, ...], *, text: str = "ran") -> str:
    return desk.call("leave_trace", path=str(path), text=text, around=around)


def logged(worker: Worker, cid: str) -> list[tuple[str, str, str]]:
    lines = [json.loads(line) for line in worker.log.read_text().splitlines() if line.startswith("{")]
    mine = [line for line in lines if line["kind"] == "hook.failed" and line["tool_call_id"] == cid]
    return [(line["hook"], line["when"], line["failure"]) for line in mine]


@in_both_pools
@pytest.mark.parametrize("name", FAILURES)
def test_a_hook_before_that_fails_keeps_the_tool_from_running(desk: Desk, worker: Worker, tmp_path: Path, name: str):
    kind, detail = FAILURES[name]
    cid = _trace(desk, tmp_path / "trace", before(name))
    outcome = desk.end(cid)
    assert (outcome.state, outcome.error) == (CallState.DENIED, f"blocked by policy: hook {name}: {detail}")
    assert not (tmp_path / "trace").exists()
    assert logged(worker, cid) == [(f"command {name}", "before", kind)]


@in_both_pools
@pytest.mark.parametrize("name", FAILURES)
def test_a_hook_after_that_fails_changes_nothing(desk: Desk, worker: Worker, tmp_path: Path, name: str):
    cid = _trace(desk, tmp_path / "trace", after(name))
    outcome = desk.end(cid)
    assert (outcome.state, outcome.result, outcome.error) == (CallState.COMPLETED, "ran", "")
    assert logged(worker, cid) == [(f"command {name}", "after", FAILURES[name][0])]


@in_both_pools
def test_a_file_that_no_program_can_run_is_a_failed_hook(desk: Desk, worker: Worker, tmp_path: Path):
    outcome = trace(desk, tmp_path / "trace", before("no_program"))
    assert outcome.error.startswith("blocked by policy: hook no_program: ")
    assert not (tmp_path / "trace").exists()


@in_both_pools
@pytest.mark.parametrize(
    ("name", "state", "text", "ran"),
    [
        ("allow", CallState.COMPLETED, "ran", True),
        ("deny", CallState.DENIED, "not today", False),
        ("answer", CallState.COMPLETED, '{"n":1}', False),
        ("leave_behind", CallState.COMPLETED, "ran", True),
    ],
)
def test_a_hook_before_decides(
    desk: Desk, worker: Worker, tmp_path: Path, name: str, state: CallState, text: str, ran: bool
):
    outcome = trace(desk, tmp_path / "trace", before(name))
    assert (outcome.state, outcome.result or outcome.error) == (state, text)
    assert (tmp_path / "trace").exists() == ran
    assert marked_processes(worker.ready()) == []


@in_both_pools
@pytest.mark.parametrize(
    ("name", "text"),
    [("note", "ran\n\n[hook note: seen]"), ("replace", "another"), ("allow", "ran")],
)
def test_a_hook_after_may_add_a_note_or_replace_the_result(desk: Desk, tmp_path: Path, name: str, text: str):
    assert trace(desk, tmp_path / "trace", after(name)).result == text


@in_both_pools
def test_a_note_on_a_json_result_keeps_it_json(desk: Desk):
    outcome = desk.end(desk.call("add", a=1, b=2, around=after("note")))
    assert (outcome.result_type, outcome.result) == ("json", '{"result":3,"hookNote":"seen"}')


@in_both_pools
def test_new_arguments_reach_the_tool_and_the_hooks_inside_and_no_others(desk: Desk, hooks: Path, tmp_path: Path):
    (hooks / "changed").unlink(missing_ok=True)
    cid = _trace(desk, tmp_path / "trace", (*before("change"), *before("record")))
    assert desk.end(cid).result == "changed"
    assert (hooks / "changed").exists()
    assert not (tmp_path / "trace").exists()
    assert json.loads((hooks / f"seen-{cid}").read_text())["arguments"]["text"] == "changed"
    cid = _trace(desk, tmp_path / "trace", (*before("record"), *before("change")))
    assert desk.end(cid).result == "changed"
    assert json.loads((hooks / f"seen-{cid}").read_text())["arguments"]["text"] == "ran"


@in_both_pools
def test_arguments_of_a_hook_that_the_tool_does_not_take_are_a_failure_of_the_hook(desk: Desk, tmp_path: Path):
    outcome = trace(desk, tmp_path / "trace", before("misfit"))
    assert outcome.state == CallState.DENIED
    assert outcome.error.startswith(
        "blocked by policy: hook misfit: its arguments do not fit: invalid arguments: path: "
    )


@in_both_pools
def test_hooks_are_not_asked_about_arguments_that_the_tool_does_not_take(desk: Desk, hooks: Path):
    cid = desk.call("leave_trace", path=1, around=before("record"))
    outcome = desk.end(cid)
    assert (outcome.state, outcome.error_kind) == (CallState.FAILED, "invalid arguments")
    assert not (hooks / f"seen-{cid}").exists()


@in_both_pools
def test_a_hook_is_told_whose_call_it_is_and_what_came_of_it(desk: Desk, hooks: Path, tmp_path: Path):
    cid = _trace(desk, tmp_path / "trace", before("record"), text="é\nü")
    desk.end(cid)
    asked: Any = json.loads((hooks / f"seen-{cid}").read_text())
    arguments = {"path": str(tmp_path / "trace"), "text": "é\nü"}
    about = {"tool": "leave_trace", "session_id": desk.sid, "tool_call_id": cid, "agent": "desk"}
    assert asked == {**about, "arguments": arguments}
    cid = desk.call("flaky", path=str(tmp_path / "flaky"), failures=1, around=after("record"))
    desk.end(cid)
    asked = json.loads((hooks / f"seen-{cid}").read_text())
    assert (asked["status"], asked["result"]) == ("failed", "ValueError: try 1")
    assert 0 <= asked["duration_ms"] < 10_000


@in_both_pools
def test_a_hook_gets_no_words_and_a_clean_environment(desk: Desk, tmp_path: Path):
    *variables, words = trace(desk, tmp_path / "trace", before("environment")).error.split(" ")
    named = {variable.partition("=")[0] for variable in variables}
    assert words == "0"
    assert {"ERRANDS_TOOL_CALL_ID", "ERRANDS_SESSION_ID", "AGENT_SESSION_ID", "PATH"} <= named
    assert not {"ERRANDS_REDIS_URL", "ERRANDS_WORKER_PLAN", "VIRTUAL_ENV"} & named


@in_both_pools
def test_what_a_hook_prints_is_neither_progress_nor_in_the_log(desk: Desk, worker: Worker, tmp_path: Path):
    cid = _trace(desk, tmp_path / "trace", (*before("exit_1"),))
    desk.end(cid)
    assert desk.progress(cid) == [{"started": True}]
    assert "broken: 7" not in worker.log.read_text()


@in_both_pools
def test_a_denial_is_not_tried_again(desk: Desk, tmp_path: Path):
    cid = _trace(desk, tmp_path / "trace", (Retries(count=5), *before("deny")))
    assert desk.end(cid).error == "not today"
    assert desk.progress(cid) == [{"started": True}]


@in_both_pools
@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("ran", "judged"),
        ("raise", "blocked by policy: hook judge: ValueError: no opinion"),
        ("large", "blocked by policy: hook judge: its answer is larger than 1 MiB"),
        ("defer", 'blocked by policy: hook judge: a tool that is a hook answers {"action": "defer"}'),
    ],
)
def test_a_tool_can_be_a_hook(desk: Desk, tmp_path: Path, text: str, error: str):
    outcome = trace(desk, tmp_path / "trace", TOOL_BEFORE, text=text)
    assert (outcome.state, outcome.error) == (CallState.DENIED, error)
    assert not (tmp_path / "trace").exists()


@in_both_pools
def test_a_tool_can_be_a_hook_after_and_is_itself_without_what_stands_around_it(desk: Desk, tmp_path: Path):
    outcome = trace(desk, tmp_path / "trace", TOOL_AFTER)
    assert outcome.result == "ran\n\n[hook note: leave_trace completed ran desk]"


@in_both_pools
@pytest.mark.parametrize(("name", "reason"), [("gone", "this worker has no such tool"), ("add", "invalid arguments: ")])
def test_a_tool_that_is_no_hook_fails_as_one(desk: Desk, tmp_path: Path, name: str, reason: str):
    outcome = trace(desk, tmp_path / "trace", (Before(hook=Hook(kind="tool", name=name)),))
    assert outcome.error.startswith(f"blocked by policy: hook {name}: {reason}")
    assert not (tmp_path / "trace").exists()


def test_every_way_to_fail_has_its_script():
    written = set(SCRIPTS) | {"a_folder", "link_outside", "no_program"}
    assert {name for name in FAILURES if "/" not in name} - written == {"missing", "..", ""}
