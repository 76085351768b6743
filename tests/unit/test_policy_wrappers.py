"""Which wrappers are around a call, in what order, and what they make of its policy."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import JsonValue
from tests.unit.agent_file_texts import SEED_WRAPPERS, agent_of

from errands_config.policy import Policy, compile_policy
from errands_config.wire import (
    After,
    Around,
    Before,
    Bound,
    CallPolicy,
    Hook,
    Retries,
    SharedLimit,
    Timeout,
    Truncate,
)

APPROVE = Before(hook=Hook(kind="command", name="approve"))
GPU, NET, DISK = (SharedLimit(name=name, concurrency=1) for name in ("gpu", "net", "disk"))


def wrapper(*decorators: dict[str, Any], **match: Any) -> dict[str, Any]:
    return {"match": match, "decorators": list(decorators)}


def policy_of(*wrappers: dict[str, Any], default: dict[str, Any] | None = None, **keys: Any) -> Policy:
    written = {"default": default or {"tag": "runSync"}, "wrappers": wrappers}
    return compile_policy(
        agent_of(executionMode="asynchronous", toolCallPolicyConfig=written, **keys), [GPU, NET, DISK]
    )


def resolved(*wrappers: dict[str, Any], **keys: Any) -> CallPolicy:
    return policy_of(*wrappers, **keys).resolve("t", {})


def timeout(seconds: float) -> dict[str, Any]:
    return {"tag": "timeout", "seconds": seconds}


def label(word: str) -> dict[str, Any]:
    return {"tag": "label", "label": word}


def limit(name: str) -> dict[str, Any]:
    return {"tag": "limit", "name": name}


def decorate(*decorators: dict[str, Any], inner: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"tag": "decorate", "decorators": list(decorators), "inner": inner or {"tag": "runSync"}}


PRODUCTION = {"command": "rm -rf build", "env": "production"}


@pytest.mark.parametrize(
    ("tool", "arguments", "around"),
    [
        ("http_get", {}, (Retries(count=2), Timeout(seconds=30))),
        ("http_get", {"env": "production"}, (Retries(count=2), Timeout(seconds=30), APPROVE)),
        ("bash_shell", {"command": "rm -rf build"}, (APPROVE,)),
        ("bash_shell", {"command": "ls"}, ()),
        ("bash_shell", {"command": ["rm x"]}, ()),
        ("bash_shell", PRODUCTION, (APPROVE, APPROVE)),
        ("shell", {"command": "rm -rf build"}, ()),
        ("deploy", {"env": "production"}, (APPROVE,)),
        ("deploy", {"env": "production", "dry_run": False}, (APPROVE,)),
        ("deploy", {"env": "production", "dry_run": None}, (APPROVE,)),
        ("deploy", {"env": "production", "dry_run": "true"}, (APPROVE,)),
        ("deploy", {"env": "production", "dry_run": True}, ()),
        ("deploy", {"env": "staging"}, ()),
        ("deploy", None, ()),
    ],
)
def test_the_wrappers_of_the_seed_act_as_written(tool: str, arguments: JsonValue, around: tuple[Around, ...]) -> None:
    assert compile_policy(agent_of(toolCallPolicyConfig=SEED_WRAPPERS)).resolve(tool, arguments).around == around


@pytest.mark.parametrize(
    ("wrappers", "default", "seconds"),
    [
        ([wrapper(timeout(1)), wrapper(timeout(2))], None, [1, 2]),
        ([wrapper(timeout(1), timeout(2)), wrapper(timeout(3))], None, [1, 2, 3]),
        ([wrapper(timeout(1)), wrapper(timeout(2), tool="x"), wrapper(timeout(3), tool="*")], None, [1, 3]),
        ([wrapper(timeout(1))], decorate(timeout(2), timeout(3)), [1, 2, 3]),
        ([], decorate(timeout(1), inner=decorate(timeout(2), inner=decorate(timeout(3)))), [1, 2, 3]),
        ([wrapper(timeout(1), args={"path": "a", "exists": True}), wrapper(timeout(2))], None, [2]),
        ([wrapper(timeout(2)), wrapper(timeout(1), args={"path": "a", "exists": False})], None, [2, 1]),
        ([wrapper()], decorate(), []),
    ],
)
def test_the_first_wrapper_is_outermost_and_the_disposition_is_nearest_to_the_tool(
    wrappers: list[dict[str, Any]], default: dict[str, Any] | None, seconds: list[float]
) -> None:
    around = resolved(*wrappers, default=default).around
    assert [one.seconds for one in around if isinstance(one, Timeout)] == seconds


def test_every_decorator_of_the_worker_is_told_whole() -> None:
    retries = {"tag": "retries", "count": 3, "backoffSeconds": 0.5, "on": ["timeout"]}
    after = {"tag": "after", "hook": {"tool": "note"}}
    before = {"tag": "before", "hook": {"command": "hooks/ask.sh"}}
    policy = resolved(wrapper(retries, timeout(1.5), {"tag": "truncate", "maxBytes": 9}, before, after))
    assert policy.around == (
        Retries(count=3, backoff_seconds=0.5, on=("timeout",)),
        Timeout(seconds=1.5),
        Truncate(max_bytes=9),
        Before(hook=Hook(kind="command", name="ask.sh")),
        After(hook=Hook(kind="tool", name="note")),
    )


def rerun(times: int) -> dict[str, Any]:
    return {"tag": "rerunOnRestart", "times": times}


def cancellable(value: bool) -> dict[str, Any]:
    return {"tag": "cancellable", "cancellable": value}


@pytest.mark.parametrize(
    ("outer", "inner", "seen", "value"),
    [
        (label("outer"), label("inner"), "label", "inner"),
        (rerun(5), rerun(2), "rerun_times", 2),
        (cancellable(False), cancellable(True), "cancellable", True),
        (cancellable(True), cancellable(False), "cancellable", False),
        (label("outer"), timeout(1), "label", "outer"),
    ],
)
def test_of_several_facts_the_one_nearest_to_the_tool_counts(
    outer: dict[str, Any], inner: dict[str, Any], seen: str, value: object
) -> None:
    one_wrapper = resolved(wrapper(outer, inner))
    two_wrappers = resolved(wrapper(outer), wrapper(inner))
    disposition = resolved(wrapper(outer), default=decorate(inner))
    assert [getattr(policy, seen) for policy in (one_wrapper, two_wrappers, disposition)] == [value] * 3


def test_what_no_wrapper_says_is_as_without_any() -> None:
    policy = resolved(wrapper(timeout(1)))
    assert policy.model_copy(update={"around": ()}) == resolved()


@pytest.mark.parametrize(
    ("shared", "wrappers", "taken"),
    [
        ([], [wrapper(limit("gpu"))], (GPU,)),
        (["net"], [wrapper(limit("gpu"))], (NET, GPU)),
        (["gpu"], [wrapper(limit("gpu")), wrapper(limit("disk"), limit("gpu"))], (GPU, DISK)),
        (["net", "net"], [wrapper(limit("gpu"), tool="x")], (NET,)),
    ],
)
def test_each_shared_limit_is_taken_once(
    shared: list[str], wrappers: list[dict[str, Any]], taken: tuple[SharedLimit, ...]
) -> None:
    written = {"wrappers": wrappers}
    agent = agent_of(sharedLimits=shared, toolCallPolicyConfig=written)
    assert compile_policy(agent, [GPU, NET, DISK]).resolve("t", {}).limits == taken


def test_limits_are_left_out_where_the_settings_are_not_at_hand() -> None:
    agent = agent_of(sharedLimits=["net"], toolCallPolicyConfig={"wrappers": [wrapper(limit("gpu"), timeout(1))]})
    policy = compile_policy(agent).resolve("t", {})
    assert (policy.limits, policy.around) == ((), (Timeout(seconds=1),))


def test_wrappers_stay_around_a_deferred_call_for_when_it_is_approved() -> None:
    policy = resolved(wrapper(timeout(5), label("gate")), default={"tag": "defer", "reason": "r"})
    assert (policy.disposition, policy.label, policy.around) == ("defer", "gate", (Timeout(seconds=5),))


def bound(arg: str, **keys: Any) -> dict[str, Any]:
    return {"arg": arg, "value": {"tag": "Literal", "contents": 1}, **keys}


@pytest.mark.parametrize(
    ("bindings", "tool", "positions"),
    [
        ([bound("k")], "t", {"k": 0}),
        ([bound("k", tool="x_*"), bound("k"), bound("k", tool="t")], "t", {"k": 1}),
        ([bound("k", tool="x_*"), bound("k")], "x_y", {"k": 0}),
        ([bound("k", tool="t*"), bound("j", tool="u"), bound("i")], "t", {"k": 0, "i": 2}),
        ([bound("k", tool="x")], "t", {}),
    ],
)
def test_the_first_binding_of_an_argument_that_matches_the_tool_holds(
    bindings: list[dict[str, Any]], tool: str, positions: dict[str, int]
) -> None:
    policy = compile_policy(agent_of(bindings=bindings)).resolve(tool, {})
    assert policy.bound == tuple(Bound(arg=arg, binding=place) for arg, place in positions.items())


def test_a_policy_is_made_once_for_each_set_of_wrappers_that_hold() -> None:
    policy = policy_of(wrapper(timeout(1), args={"path": "a", "exists": True}), wrapper(timeout(2), tool="u"))
    with_a = policy.resolve("t", {"a": 1})
    assert policy.resolve("t", {"a": 2}) is with_a
    assert policy.resolve("t", {"b": 1}) is policy.resolve("t", {})
    assert policy.resolve("t", {}) is not with_a
    assert policy.resolve("other", {"a": 1}) == with_a


@pytest.mark.parametrize("wrappers", [[], [wrapper(timeout(1), args={"path": "a", "exists": True})]])
def test_names_that_a_model_makes_up_do_not_stay_in_memory(wrappers: list[dict[str, Any]]) -> None:
    policy = policy_of(*wrappers)
    first = policy.resolve("made_up", {})
    for number in range(1_100):
        policy.resolve(f"made_up_{number}", {})
    assert policy.resolve("made_up", {}) == first
    assert policy.resolve("made_up", {}) is not first


def test_sets_of_wrappers_that_arguments_bring_together_do_not_stay_in_memory() -> None:
    policy = policy_of(*(wrapper(label(key), args={"path": key, "exists": True}) for key in "abcdefghijk"))
    first = policy.resolve("t", {})
    for number in range(1, 1_100):
        policy.resolve("t", {key: 1 for place, key in enumerate("abcdefghijk") if number >> place & 1})
    assert policy.resolve("t", {}) == first
    assert policy.resolve("t", {}) is not first
