"""One policy for each call, out of the agent file."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.agent_file_texts import agent_of

from errands_config.policy import MAX_CALL_SECONDS, compile_policy
from errands_config.wire import CallPolicy, Defer


def resolved(tool: str = "t", mode: str = "asynchronous", /, **keys: Any) -> CallPolicy:
    return compile_policy(agent_of(executionMode=mode, **keys)).resolve(tool, {"any": "arguments"})


def config(*rules: tuple[str, dict[str, Any]], default: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "default": default or {"tag": "runSync"},
        "rules": [{"tool": tool, "disposition": disposition} for tool, disposition in rules],
    }


def test_without_any_policy_a_call_is_waited_for_under_the_ceilings() -> None:
    assert resolved() == CallPolicy(
        disposition="runSync", timeout_seconds=MAX_CALL_SECONDS, queue_timeout_seconds=3600, may_defer=True
    )


def test_the_first_rule_that_names_the_tool_wins() -> None:
    rules = config(("other", {"tag": "runSync"}), ("t", {"tag": "runAsync", "queue": "one"}), ("t", {"tag": "runSync"}))
    policy = resolved(toolCallPolicyConfig=rules)
    assert (policy.disposition, policy.queue) == ("runAsync", "one")


def test_a_tool_that_no_rule_names_gets_the_default() -> None:
    policy = resolved("T", toolCallPolicyConfig=config(("t", {"tag": "runSync"}), default={"tag": "runAsync"}))
    assert policy.disposition == "runAsync"


def test_in_synchronous_mode_every_call_is_waited_for() -> None:
    rules = config(("t", {"tag": "runAsync", "attachSeconds": 5}), default={"tag": "runAsync"})
    for tool in ("t", "other"):
        policy = resolved(tool, "synchronous", toolCallPolicyConfig=rules, asyncCallTimeoutSeconds=7)
        assert policy.disposition == "runSync"
        assert policy.attach_seconds is None
        assert policy.timeout_seconds == MAX_CALL_SECONDS


def test_a_queue_holds_in_synchronous_mode_too() -> None:
    rules = config(("t", {"tag": "runAsync", "queue": "isolated"}))
    assert resolved("t", "synchronous", toolCallPolicyConfig=rules).queue == "isolated"


@pytest.mark.parametrize("disposition", [{"tag": "runSync"}, {"tag": "runAsync"}])
def test_the_call_timeout_bounds_every_attempt_in_asynchronous_mode(disposition: dict[str, Any]) -> None:
    rules = config(default=disposition)
    assert resolved(toolCallPolicyConfig=rules, asyncCallTimeoutSeconds=900).timeout_seconds == 900
    assert resolved(toolCallPolicyConfig=rules).timeout_seconds == MAX_CALL_SECONDS == 86_400


def test_the_queue_timeout_is_the_agents() -> None:
    assert resolved(queueTimeoutSeconds=60).queue_timeout_seconds == 60


@pytest.mark.parametrize(("written", "kept"), [(None, None), (2.5, 2.5), (3, 3), (0, 0), (-1, 0), (-0.5, 0)])
def test_a_call_is_attached_for_the_seconds_written_and_never_for_less_than_none(
    written: float | None, kept: float | None
) -> None:
    rules = config(default={"tag": "runAsync", "attachSeconds": written})
    assert resolved(toolCallPolicyConfig=rules).attach_seconds == kept


@pytest.mark.parametrize(("mode", "may"), [("asynchronous", True), ("synchronous", False)])
def test_calls_may_wait_for_somebody_outside_in_asynchronous_mode_only(mode: str, may: bool) -> None:
    assert resolved("t", mode).may_defer is may


def test_what_calls_print_is_kept_where_the_model_can_read_it() -> None:
    boxes = [{"tag": "SystemToolbox", "contents": {"Capabilities": ["get-tool-call-result"]}}]
    assert resolved("t", builtinToolboxes=boxes).keeps_output
    assert not resolved("t").keeps_output


def test_a_deferred_call_keeps_its_terms() -> None:
    written = {"tag": "defer", "reason": "a person decides", "expiresSeconds": 60, "attached": False}
    policy = resolved(toolCallPolicyConfig=config(default=written), asyncCallTimeoutSeconds=7)
    assert policy.disposition == "defer"
    assert policy.defer == Defer(reason="a person decides", expires_seconds=60, attached=False)
    assert policy.timeout_seconds == 7
    assert resolved(toolCallPolicyConfig=config(default={"tag": "defer", "reason": "r"})).defer == Defer(reason="r")


def test_a_deferred_call_of_a_synchronous_agent_runs_like_any_other() -> None:
    policy = resolved("t", "synchronous", toolCallPolicyConfig=config(default={"tag": "defer", "reason": "r"}))
    assert (policy.disposition, policy.defer) == ("runSync", None)


_DISPOSITIONS = st.sampled_from([{"tag": "runSync"}, {"tag": "runAsync"}, {"tag": "runAsync", "attachSeconds": 1}])


@given(
    rules=st.lists(st.tuples(st.sampled_from("abc"), _DISPOSITIONS), max_size=6),
    default=_DISPOSITIONS,
    tool=st.sampled_from("abcd"),
)
def test_compiling_beforehand_finds_the_rule_that_a_search_finds(
    rules: list[tuple[str, dict[str, Any]]], default: dict[str, Any], tool: str
) -> None:
    found = next((disposition for name, disposition in rules if name == tool), default)
    policy = resolved(tool, toolCallPolicyConfig=config(*rules, default=default))
    assert (policy.disposition, policy.attach_seconds) == (found["tag"], found.get("attachSeconds"))


def again(times: int, **match: str) -> dict[str, Any]:
    return {"match": match, "decorators": [{"tag": "rerunOnRestart", "times": times}]}


def test_a_call_is_started_again_as_the_last_wrapper_for_its_tool_says() -> None:
    wrappers = [again(2), again(5, tool="fetch_*"), again(1, tool="pay")]
    config = {"wrappers": wrappers}
    assert [resolved(tool, toolCallPolicyConfig=config).rerun_times for tool in ("x", "fetch_all", "pay")] == [2, 5, 1]


def test_a_call_that_no_wrapper_marks_is_never_started_again() -> None:
    assert resolved("pay", toolCallPolicyConfig={"wrappers": [again(3, tool="fetch_*")]}).rerun_times == 0


def test_the_queues_that_a_policy_names_are_known_once_each_without_those_of_the_tools() -> None:
    rules = config(
        ("a", {"tag": "runAsync", "queue": "slow"}),
        ("b", {"tag": "runAsync", "queue": "gpu"}),
        ("c", {"tag": "runAsync", "queue": "slow"}),
        default={"tag": "runAsync"},
    )

    assert compile_policy(agent_of(toolCallPolicyConfig=rules)).queues == ("gpu", "slow")
    assert compile_policy(agent_of()).queues == ()
