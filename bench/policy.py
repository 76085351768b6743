"""CPU of finding the policy of a call: with 50 rules and 50 wrappers that all look at its arguments, and with none.

Baseline of the second: how a call's policy was found before wrappers could look at arguments, a lookup and a scan of
the wrappers, of which there are none. Only CPU counts; a round is many batches of calls, because one is over too soon
to be measured.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from pydantic import JsonValue

from bench.cpu import Cpu
from bench.figure import Figure, Round, compared, side
from errands_config.agent import Agent, parse_agent
from errands_config.glob import matches
from errands_config.policy import Policy, compile_policy
from errands_config.wire import CallPolicy

WRAPPERS = 50
ROUNDS = 11
BATCHES = 50
BATCH = 200
GOAL_MICROSECONDS = 50.0
GOAL_AS_BEFORE = 1.05
TOOL = "bash_deploy"
CALLS: tuple[JsonValue, ...] = tuple(
    {"command": f"rm {number} build", "env": env, "options": {"targets": [number, number + 1]}}
    for number in range(5)
    for env in ("production", "staging")
)
Resolve = Callable[[str, JsonValue], CallPolicy]


def policy() -> list[Figure]:
    """Both figures."""
    return [_wrapped(), _plain()]


def _wrapped() -> Figure:
    resolve = compile_policy(_agent(WRAPPERS)).resolve
    used = side([_round(resolve) for _ in range(ROUNDS)])
    note = f"{_first_time() * 1e6:.0f} us where wrappers come together for the first time"
    name = f"policy of a call, {WRAPPERS} rules and {WRAPPERS} wrappers, CPU"
    return Figure(name, used.median_ms * 1000, GOAL_MICROSECONDS, "us", product=used, note=note)


def _plain() -> Figure:
    agent = _agent(0)
    new, before = compile_policy(agent), _Before(*_looked_up(agent, compile_policy(agent)))
    ours: list[Round] = []
    theirs: list[Round] = []
    bare: list[Round] = []
    for _ in range(ROUNDS):
        ours.append(_round(new.resolve))
        theirs.append(_round(before.resolve))
        bare.append(_round(before.looked_up))
    name = "policy of a call without wrappers, CPU, against before"
    note = f"{side(ours).median_ms * 1000:.3f} us; a bare lookup {side(bare).median_ms * 1000:.3f} us"
    return replace(compared(name, ours, theirs, GOAL_AS_BEFORE, "fast"), note=note)


@dataclass(frozen=True, slots=True)
class _Before:
    """The resolver of an agent whose wrappers knew no arguments."""

    by_tool: Mapping[str, CallPolicy]
    default: CallPolicy
    reruns: Sequence[tuple[str, int]] = ()

    def resolve(self, tool: str, _: JsonValue) -> CallPolicy:
        policy = self.by_tool.get(tool, self.default)
        times = next((times for tools, times in reversed(self.reruns) if matches(tools, tool)), 0)
        return policy.model_copy(update={"rerun_times": times}) if times else policy

    def looked_up(self, tool: str, _: JsonValue) -> CallPolicy:
        """Half of it: the least that any resolver does."""
        return self.by_tool.get(tool, self.default)


def _looked_up(agent: Agent, made: Policy) -> tuple[dict[str, CallPolicy], CallPolicy]:
    rules = agent.tool_call_policy_config.rules
    return {rule.tool: made.resolve(rule.tool, {}) for rule in rules}, made.resolve("another", {})


def _agent(wrappers: int) -> Agent:
    """Fifty rules, the last of which names the tool; every wrapper is for it and must look at the arguments."""
    names = [*(f"tool_{number}" for number in range(49)), TOOL]
    config = {
        "rules": [{"tool": name, "disposition": {"tag": "runAsync"}} for name in names],
        "wrappers": [_wrapper(number) for number in range(wrappers)],
    }
    written = {"slug": "bench", "executionMode": "asynchronous", "toolCallPolicyConfig": config}
    return parse_agent(json.dumps(written), origin="bench")


def _wrapper(number: int) -> dict[str, Any]:
    predicates = (
        {"path": "command", "glob": f"rm {number % 5}*"},
        {"all": [{"path": "env", "equals": "production"}, {"not": {"path": "dry_run", "equals": True}}]},
        {"any": [{"path": "options.targets.1", "equals": number}, {"path": "force", "exists": True}]},
    )
    decorators = [{"tag": "timeout", "seconds": number + 1}, {"tag": "before", "hook": {"command": "hooks/approve"}}]
    match = {"tool": ("*", "bash_*", "*_deploy")[number % 3], "args": predicates[number % 3]}
    return {"match": match, "decorators": decorators}


def _round(resolve: Resolve) -> Round:
    used: list[float] = []
    for _ in range(BATCHES):
        began = time.process_time()
        for _ in range(BATCH // len(CALLS)):
            for arguments in CALLS:
                resolve(TOOL, arguments)
        used.append((time.process_time() - began) / BATCH)
    return Round(tuple(used), Cpu(sum(used), 0.0, 0.0))


def _first_time() -> float:
    """CPU seconds of the first call of a policy whose tool is known, so that nothing of it is kept yet."""
    agent = _agent(WRAPPERS)
    used: list[float] = []
    for _ in range(20):
        resolve = compile_policy(agent).resolve
        resolve(TOOL, {})
        began = time.process_time()
        resolve(TOOL, CALLS[0])
        used.append(time.process_time() - began)
    return median(used)
