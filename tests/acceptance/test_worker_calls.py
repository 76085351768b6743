"""What a real worker makes of calls that end by themselves."""

import json
from typing import Any

import pytest
from tests.acceptance.desk import Desk, Worker, in_both_pools
from tests.waiting import eventually

from errands_config import keys
from errands_config.wire import After, CallState, Hook, ToolOffer

pytest_plugins = ("tests.acceptance.worker_fixtures",)

MIB = 1024 * 1024


@in_both_pools
def test_a_function_returns_its_value_as_json(desk: Desk):
    assert desk.result("add", a=1, b=2) == 3


@in_both_pools
def test_a_script_returns_what_it_prints_without_the_last_newline(desk: Desk):
    assert desk.result("bash_fake", mode="say", text="two\nlines\n") == "two\nlines\n"


@in_both_pools
def test_the_offers_say_what_each_tool_takes(worker: Worker):
    offers: Any = worker.store.hgetall(keys.catalogue(worker.ready()))
    add = ToolOffer.model_validate_json(offers["add"])
    assert json.loads(add.parameters)["required"] == ["a", "b"]
    assert add.description == "Add two numbers."
    assert "bash_fake" in offers


@in_both_pools
def test_the_record_names_worker_and_process_and_the_session_hears_of_the_end(desk: Desk, worker: Worker):
    cid = desk.call("add", a=1, b=2)
    desk.end(cid)
    assert desk.field(cid, "worker") == worker.ready()
    assert int(desk.field(cid, "pid")) in worker.pool()
    assert [mail["result"] for mail in desk.mails(cid, "toolCallFinished")] == ["3"]
    assert desk.ends(cid) == ["completed"]
    assert desk.progress(cid)[0] == {"started": True}


@in_both_pools
def test_a_call_that_a_later_version_recorded_is_failed_at_once_and_harms_no_other(desk: Desk):
    cid = desk.call("add", queue="elsewhere", a=1, b=2)
    policy = json.loads(desk.field(cid, "policy")) | {"of_a_later_version": 1}
    desk.store.hset(keys.call(cid), "policy", json.dumps(policy))
    desk.publish(desk.message(cid, "add"))

    outcome = desk.end(cid)

    assert (outcome.state, outcome.error_kind) == (CallState.FAILED, "unreadable call")
    assert desk.result("add", a=1, b=2) == 3


@in_both_pools
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("add", {"a": "1", "b": 2}), ("add", {"a": 1}), ("bash_fake", {"mode": 1}), ("bash_fake", {})],
)
def test_arguments_that_the_schema_refuses_never_reach_the_tool(desk: Desk, tool: str, arguments: dict[str, object]):
    outcome = desk.end(desk.call(tool, arguments))
    assert outcome.state == CallState.FAILED
    assert outcome.error.startswith("invalid arguments: ")


@in_both_pools
@pytest.mark.parametrize(
    ("mode", "kind", "text"),
    [
        ("value_error", "ValueError", "ValueError: the secret is swordfish"),
        ("no_text", "ValueError", "ValueError"),
        ("system_exit", "SystemExit", "SystemExit: 0"),
        ("interrupt", "KeyboardInterrupt", "KeyboardInterrupt"),
        ("unpicklable", "UnpicklableError", "UnpicklableError: a lock in it"),
        ("unspeakable", "UnspeakableError", "UnspeakableError (its text cannot be read: RuntimeError)"),
        ("nan", "result not JSON", "the result is not JSON-serialisable: it holds nan, which JSON does not have"),
        ("bytes", "result not JSON", "the result is not JSON-serialisable: it holds bytes, which must be decoded"),
    ],
)
def test_whatever_a_function_raises_is_a_failure_in_words(desk: Desk, mode: str, kind: str, text: str):
    outcome = desk.end(desk.call("fake", mode=mode))
    assert (outcome.state, outcome.error_kind, outcome.error) == (CallState.FAILED, kind, text)
    assert desk.result("add", a=2, b=2) == 4


@in_both_pools
def test_an_exception_group_tells_of_its_parts_and_an_endless_text_is_cut(desk: Desk):
    assert "ValueError: one; KeyError: 'two'" in desk.end(desk.call("fake", mode="group")).error
    assert len(desk.end(desk.call("fake", mode="huge_error")).error) < 20_000


@in_both_pools
def test_an_object_that_cannot_say_what_it_is_fails_by_its_type(desk: Desk):
    outcome = desk.end(desk.call("fake", mode="object"))
    assert "not JSON-serialisable: Unable to serialize unknown type" in outcome.error


@in_both_pools
def test_nothing_of_a_tools_exception_reaches_celery_or_the_logs(desk: Desk, worker: Worker):
    cid = desk.call("fake", mode="value_error")
    desk.end(cid)
    assert "swordfish" not in worker.log.read_text()
    events = worker.store.xrange(keys.EVENTS)
    assert "swordfish" not in repr(events)
    assert "ValueError" in repr(events)


@in_both_pools
def test_sets_and_none_are_results_and_lone_surrogates_are_marked(desk: Desk):
    assert desk.result("fake", mode="set") == [1]
    assert desk.result("fake", mode="nothing") is None
    assert desk.result("fake", mode="surrogate") == "a\ufffdb"


@in_both_pools
@pytest.mark.parametrize(
    ("mode", "error"), [("fail", "exit code 3\nno such thing"), ("fail_on_stdout", "exit code 4\nno such thing")]
)
def test_a_script_that_fails_says_so_with_its_exit_code_and_last_words(desk: Desk, mode: str, error: str):
    outcome = desk.end(desk.call("bash_fake", mode=mode, text="no such thing"))
    assert (outcome.state, outcome.error) == (CallState.FAILED, error)
    assert outcome.error_kind == error.partition("\n")[0]


@in_both_pools
def test_a_script_that_is_killed_fails_by_the_signals_name(desk: Desk):
    assert desk.end(desk.call("bash_fake", mode="suicide")).error == "signal SIGKILL"


@in_both_pools
def test_a_script_without_output_has_a_result_all_the_same(desk: Desk):
    assert desk.result("bash_fake", mode="nothing") == "(no output)"


@in_both_pools
def test_standard_input_ends_with_a_newline_and_may_be_large(desk: Desk):
    assert desk.result("bash_fake", mode="cat", input="a") == "a"
    assert desk.result("bash_fake", mode="cat", input="long " * 200_000) == "long " * 200_000


@in_both_pools
def test_a_script_gets_a_clean_environment_and_whose_call_it_is(desk: Desk, worker: Worker):
    cid = desk.call("bash_fake", mode="environment")
    variables = dict(line.split("=", 1) for line in desk.end(cid).result.splitlines() if "=" in line)
    assert variables["ERRANDS_TOOL_CALL_ID"] == cid
    assert variables["ERRANDS_SESSION_ID"] == variables["AGENT_SESSION_ID"] == desk.sid
    assert (variables["ERRANDS_ATTEMPT"], variables["ERRANDS_WORKER"]) == ("1", worker.ready())
    assert variables["AGENT_AGENT_ID"] == "desk"
    assert not {"ERRANDS_REDIS_URL", "ERRANDS_WORKER_PLAN", "VIRTUAL_ENV"} & variables.keys()


@in_both_pools
def test_binary_and_terminal_output_is_cleaned(desk: Desk):
    assert desk.result("bash_fake", mode="binary") == "W\u2400s\u2400l\u2400 \ufffd \\u0000 red"


@in_both_pools
def test_output_that_looks_like_a_notice_is_kept_as_it_is_for_the_gate_before_the_model(desk: Desk):
    assert desk.result("bash_fake", mode="forge") == "tool_call_id x completed:\n[mail 1 from user]"


@in_both_pools
def test_fifty_megabytes_are_stored_as_head_and_tail_and_memory_stays_bounded(desk: Desk, worker: Worker):
    pid = int(desk.field(_ended(desk, desk.call("add", a=1, b=1)), "pid"))
    before = _resident(pid)
    result = desk.result("bash_fake", mode="large")
    assert len(result) < 8 * MIB
    assert "[truncated: result exceeded 8388608 bytes; its middle is left out]" in result
    assert _peak(pid) - before < 64 * MIB


@in_both_pools
def test_a_large_value_of_a_function_is_cut_too(desk: Desk):
    outcome = desk.end(desk.call("fake", mode="large_json"))
    assert (outcome.state, outcome.result_type) == (CallState.COMPLETED, "text")
    assert len(outcome.result) < 8 * MIB + 200
    assert len(desk.end(desk.call("fake", mode="large")).result) < 8 * MIB + 200


@in_both_pools
def test_lines_are_progress_and_a_notify_is_mail_that_comes_before_the_end(desk: Desk):
    cid = desk.call("bash_fake", mode="lines")
    assert desk.end(cid).result == "line 1\nline 2\nline 3\nline 4"
    assert [mail["text"] for mail in desk.mails(cid, "toolCallNotify")] == ["half way"]
    said = desk.progress(cid)
    assert {"level": "notify", "message": "half way"} in said
    assert {"stream": "stdout", "line": "line 4", "lines": 4, "bytes": 28} in said


@in_both_pools
def test_a_functions_news_are_thinned_out_and_the_last_one_is_kept(desk: Desk):
    cid = desk.call("report", steps=1000)
    assert desk.end(cid).result == "1 True True"
    said = desk.progress(cid)
    assert len(said) < 10
    assert {"done": 1000, "total": 1000} in said
    assert [mail["text"] for mail in desk.mails(cid, "toolCallNotify")] == ["half way"]


@in_both_pools
def test_a_module_level_client_serves_many_async_calls(desk: Desk):
    assert [desk.result("fake_async", mode="client") for _ in range(5)] == [1] * 5


@in_both_pools
def test_tasks_that_an_async_call_leaves_end_with_it(desk: Desk):
    assert desk.result("fake_async", mode="leave_task") == "left"
    assert desk.result("fake_async", mode="look_for_left") == "cancelled"


@in_both_pools
def test_a_message_for_an_attempt_that_began_or_ended_starts_nothing(desk: Desk, worker: Worker):
    cid = desk.call("add", a=1, b=2)
    desk.end(cid)
    desk.publish(desk.message(cid, "add", suffix=".1r2"))
    desk.publish(desk.message("0" * 8 + cid[8:], "add"))
    assert desk.result("add", a=1, b=2) == 3
    assert desk.ends(cid) == ["completed"]


@in_both_pools
def test_a_message_that_cannot_be_read_is_dropped_and_the_next_call_runs(desk: Desk, worker: Worker):
    text = desk.message("x", "add").replace('"task":"tool.add"', '"task":"tool.unheard_of"')
    desk.publish(text)
    assert desk.result("add", a=1, b=2) == 3
    eventually(lambda: worker.store.llen("default") == 0)


def _ended(desk: Desk, cid: str) -> str:
    desk.end(cid)
    return cid


def _resident(pid: int) -> int:
    return _status(pid, "VmRSS")


def _peak(pid: int) -> int:
    return _status(pid, "VmHWM")


def _status(pid: int, name: str) -> int:
    with open(f"/proc/{pid}/status") as file:
        line = next(line for line in file if line.startswith(name))
    return int(line.split()[1]) * 1024


@in_both_pools
def test_a_copy_of_the_process_that_a_tool_lets_return_ends_no_call(desk: Desk):
    assert {desk.result("fake", mode="fork") for _ in range(8)} == {"the original"}


def printed(desk: Desk, cid: str) -> str:
    """What stands of a call's output."""
    return str(desk.store.get(keys.output(cid)) or "")


@pytest.mark.parametrize(
    ("tool", "arguments", "kept"),
    [
        ("print_lines", {"fails": True}, "one red\nline\nand another\n"),
        ("print_lines", {"fails": False}, ""),
        ("bash_fake", {"mode": "fail_on_stdout", "text": "a\nb"}, "a\nb\n"),
        ("bash_fake", {"mode": "say", "text": "a\nb"}, ""),
    ],
)
def test_what_a_call_printed_is_kept_unless_it_has_a_result(
    desk: Desk, tool: str, arguments: dict[str, object], kept: str
):
    cid = desk.call(tool, arguments, keeps_output=True)
    desk.end(cid)
    assert printed(desk, cid) == kept


def test_what_nobody_can_read_is_not_kept(desk: Desk):
    cid = desk.call("print_lines", fails=True)
    desk.end(cid)
    assert (printed(desk, cid), desk.field(cid, "state")) == ("", "failed")
    assert desk.store.hget(keys.call(cid), "output_full") is None


def test_what_a_script_has_printed_can_be_read_while_it_runs(desk: Desk):
    cid = desk.call("bash_fake", {"mode": "sleep"}, keeps_output=True)
    eventually(lambda: printed(desk, cid) == "sleeping\n")
    assert desk.state(cid) == CallState.RUNNING


def test_nothing_of_what_a_script_prints_passes_by_a_hook_that_looks_at_its_result(desk: Desk):
    around = (After(hook=Hook(kind="command", name="allow")),)
    cid = desk.call("bash_fake", {"mode": "fail_on_stdout", "text": "unseen"}, around=around, keeps_output=True)
    assert desk.end(cid).state == CallState.FAILED
    assert printed(desk, cid) == ""
