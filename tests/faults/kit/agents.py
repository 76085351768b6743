"""The tools of a fault run, and the agents that call them: how a tool is run stands in its name."""

from __future__ import annotations

import json

TIMES = 2
"""How often a call of a tool that ends on `again` may be started again."""
RETRIES = 2
"""How many tries may follow the first one of a `flaky` tool."""

TOOLS = tuple(f"{kind}_{name}" for kind in ("bash", "py") for name in ("once", "again", "step_once", "step_again"))
ASKED = ("bash_asked_once", "py_asked_again")
"""Deferred by the policy; the second one detached."""
GATED = ("bash_gated_again", "py_gated_once")
"""Deferred by a hook before them."""
LATER = ("py_later_once", "py_later_again")
"""They begin, and defer themselves."""
FLAKY = ("bash_flaky_again", "py_flaky_once")
"""The first try of each attempt fails; hooks stand around them."""
WRAPPED = (*ASKED, *GATED, *LATER, *FLAKY)

LIMITS = json.dumps({"few": {"concurrency": 4}})
"""The shared limit that one of the agents is under."""

_WRAPPERS = (
    {"match": {"tool": "*_gated_*"}, "decorators": [{"tag": "before", "hook": {"command": "ask"}}]},
    {
        "match": {"tool": "*_flaky_*"},
        "decorators": [
            {"tag": "after", "hook": {"command": "note"}},
            {"tag": "retries", "count": RETRIES, "backoffSeconds": 0.1},
            {"tag": "before", "hook": {"command": "pass"}},
        ],
    },
)


def storm_agents() -> dict[str, dict[str, object]]:
    """The agents of a fault run, by slug. They differ in when they hand back to the model."""
    strategies: dict[str, object] = {
        "any": "yieldOnAnyProgress",
        "all": "yieldWhenAllDone",
        "timed": {"tag": "yieldOnTimeout", "milliseconds": 400},
    }
    limits = {"timed": ["few"]}
    return {slug: agent(slug, strategy, sharedLimits=limits.get(slug, [])) for slug, strategy in strategies.items()}


def agent(
    slug: str, strategy: object = "yieldOnAnyProgress", *, times: int = TIMES, **more: object
) -> dict[str, object]:
    """An agent with all tools: those with `step` in their name are waited for, those that end on `again` marked."""
    dispositions: dict[str, dict[str, object]] = {name: {"tag": "runSync"} for name in TOOLS if "step" in name}
    dispositions |= {name: _asked(attached="once" in name) for name in ASKED}
    dispositions["bash_again"] = {"tag": "runAsync", "queue": "bash"}
    dispositions["py_once"] = {"tag": "runAsync", "attachSeconds": 0}
    rules = [{"tool": name, "disposition": disposition} for name, disposition in dispositions.items()]
    marked = {"match": {"tool": "*_again"}, "decorators": [{"tag": "rerunOnRestart", "times": times}]}
    return {
        "slug": slug,
        "executionMode": "asynchronous",
        "asyncYieldStrategy": strategy,
        "tools": ["bash_*", "py_*"],
        "toolCallPolicyConfig": {"default": {"tag": "runAsync"}, "rules": rules, "wrappers": [marked, *_WRAPPERS]},
        **more,
    }


def _asked(*, attached: bool) -> dict[str, object]:
    return {"tag": "defer", "reason": "the clerk decides", "attached": attached}
