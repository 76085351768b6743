"""The compiled policy against a resolver that is as naive as can be, and its explanation against both."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue
from tests.unit.agent_file_texts import agent_of
from tests.unit.naive_predicate import ARGUMENTS, PREDICATES, naive_glob, naive_holds

from errands_config.policy import compile_policy
from errands_config.policy_explained import explained
from errands_config.wire import CallPolicy, SharedLimit

LIMITS = tuple(SharedLimit(name=name, concurrency=1) for name in ("gpu", "net"))
TOOLS = ("t", "tt", "bash_t", "u")
Written = dict[str, Any]

_TOOL_GLOBS = st.sampled_from(["*", "t", "t*", "*t", "bash_*", "x"])
_DECORATORS = st.lists(
    st.sampled_from(
        [
            *({"tag": "timeout", "seconds": seconds} for seconds in (1, 2)),
            {"tag": "retries", "count": 1},
            {"tag": "truncate", "maxBytes": 9},
            {"tag": "before", "hook": {"command": "hooks/h"}},
            {"tag": "after", "hook": {"tool": "note"}},
            *({"tag": "label", "label": word} for word in "ab"),
            *({"tag": "rerunOnRestart", "times": times} for times in (1, 2)),
            *({"tag": "limit", "name": name} for name in ("gpu", "net")),
            *({"tag": "cancellable", "cancellable": value} for value in (True, False)),
        ]
    ),
    max_size=3,
)
_PLAIN = st.sampled_from(
    [
        {"tag": "runSync"},
        {"tag": "runAsync", "attachSeconds": 2, "queue": "q"},
        {"tag": "defer", "reason": "r", "attached": False},
    ]
)
_DISPOSITIONS = st.recursive(
    _PLAIN,
    lambda inner: st.fixed_dictionaries({"tag": st.just("decorate"), "decorators": _DECORATORS, "inner": inner}),
    max_leaves=3,
)
_WRAPPERS = st.fixed_dictionaries(
    {
        "match": st.fixed_dictionaries({}, optional={"tool": _TOOL_GLOBS, "args": PREDICATES}),
        "decorators": _DECORATORS,
    }
)
_AGENTS = st.fixed_dictionaries(
    {
        "executionMode": st.sampled_from(["asynchronous", "synchronous"]),
        "sharedLimits": st.lists(st.sampled_from(["gpu", "net"]), max_size=2),
        "toolCallPolicyConfig": st.fixed_dictionaries(
            {
                "default": _DISPOSITIONS,
                "rules": st.lists(
                    st.fixed_dictionaries({"tool": st.sampled_from(TOOLS), "disposition": _DISPOSITIONS}), max_size=3
                ),
                "wrappers": st.lists(_WRAPPERS, max_size=5),
            }
        ),
        "bindings": st.lists(
            st.fixed_dictionaries(
                {"arg": st.sampled_from("kj"), "value": st.just({"tag": "Literal", "contents": 1})},
                optional={"tool": _TOOL_GLOBS},
            ),
            max_size=3,
        ),
    }
)


def naive_match(match: Written, tool: str, arguments: JsonValue) -> bool:
    return naive_glob(match.get("tool", "*"), tool) and naive_holds(match.get("args", {"all": []}), arguments)


def naive_layers(config: Written, tool: str, arguments: JsonValue) -> Iterator[Written]:
    """Every decorator, then the disposition, from the outside in, as they stand in the file."""
    for wrapper in config["wrappers"]:
        if naive_match(wrapper["match"], tool, arguments):
            yield from wrapper["decorators"]
    disposition = next((rule["disposition"] for rule in config["rules"] if rule["tool"] == tool), config["default"])
    while disposition["tag"] == "decorate":
        yield from disposition["decorators"]
        disposition = disposition["inner"]
    yield disposition


def naive_policy(agent: Written, tool: str, arguments: JsonValue) -> Written:
    """What is compared, in words of the file."""
    *decorators, disposition = naive_layers(agent["toolCallPolicyConfig"], tool, arguments)
    background = agent["executionMode"] == "asynchronous"
    limits = [*agent["sharedLimits"], *(one["name"] for one in decorators if one["tag"] == "limit")]
    nearest = {one["tag"]: one for one in decorators}
    bound: dict[str, int] = {}
    for place, binding in reversed(list(enumerate(agent["bindings"]))):
        if naive_glob(binding.get("tool", "*"), tool):
            bound[binding["arg"]] = place
    return {
        "disposition": disposition["tag"] if background else "runSync",
        "queue": disposition.get("queue"),
        "attached": disposition.get("attachSeconds") if background else None,
        "around": [one["tag"] for one in decorators if one["tag"] in AROUND],
        "seconds": [one["seconds"] for one in decorators if one["tag"] == "timeout"],
        "limits": sorted(set(limits)),
        "label": nearest.get("label", {}).get("label", ""),
        "reruns": nearest.get("rerunOnRestart", {}).get("times", 0),
        "cancellable": nearest.get("cancellable", {}).get("cancellable", True),
        "deferred": background and disposition["tag"] == "defer",
        "may_defer": background,
        "bound": bound,
    }


AROUND = ("timeout", "retries", "truncate", "before", "after")


def in_words(policy: CallPolicy) -> Written:
    return {
        "disposition": policy.disposition,
        "queue": policy.queue,
        "attached": policy.attach_seconds,
        "around": [one.tag for one in policy.around],
        "seconds": [one.seconds for one in policy.around if one.tag == "timeout"],
        "limits": sorted(limit.name for limit in policy.limits),
        "label": policy.label,
        "reruns": policy.rerun_times,
        "cancellable": policy.cancellable,
        "deferred": policy.defer is not None and not policy.defer.attached,
        "may_defer": policy.may_defer,
        "bound": {one.arg: one.binding for one in policy.bound},
    }


_CALLS = st.lists(st.tuples(st.sampled_from(TOOLS), ARGUMENTS), min_size=1, max_size=4)


@given(_AGENTS, _CALLS)
def test_a_compiled_policy_resolves_as_a_naive_reading_of_the_file(
    written: Written, calls: list[tuple[str, JsonValue]]
) -> None:
    policy = compile_policy(agent_of(**written), LIMITS)
    for tool, arguments in [*calls, *calls]:
        assert in_words(policy.resolve(tool, arguments)) == naive_policy(written, tool, arguments)


@given(_AGENTS, _CALLS)
def test_an_explanation_agrees_with_what_is_resolved(written: Written, calls: list[tuple[str, JsonValue]]) -> None:
    agent = agent_of(**written)
    wrappers = agent.tool_call_policy_config.wrappers
    for tool, arguments in calls:
        explanation = explained(agent, tool, arguments, LIMITS)
        applied = [one for layer in (*explanation.wrappers, explanation.rule) for one in layer.decorators]
        assert explanation.policy == compile_policy(agent, LIMITS).resolve(tool, arguments)
        assert [one.tag for one in applied if one.tag in AROUND] == [one.tag for one in explanation.policy.around]
        there = {layer.path for layer in explanation.wrappers}
        not_there = {other.path.partition(".match")[0] for other in explanation.others if ".match" in other.path}
        assert there | not_there == {f"toolCallPolicyConfig.wrappers[{place}]" for place in range(len(wrappers))}
        assert not there & not_there
