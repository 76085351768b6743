"""Agent files that several tests read."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import strategies as st

from errands_config.agent import Agent, parse_agent

SYSTEM_TOOLBOX = {
    "tag": "SystemToolbox",
    "contents": {
        "Name": "system",
        "Description": "System context and background tool calls",
        "Capabilities": [
            "get-tool-call-status",
            "list-running-tool-calls",
            "cancel-tool-call",
            "send-to-tool-call",
        ],
    },
}
"""As the first seed shows it."""

SEED_WRAPPERS: dict[str, Any] = {
    "default": {"tag": "runSync"},
    "rules": [],
    "wrappers": [
        {
            "match": {"tool": "http_*"},
            "decorators": [{"tag": "retries", "count": 2}, {"tag": "timeout", "seconds": 30}],
        },
        {
            "match": {"tool": "bash_*", "args": {"path": "command", "glob": "rm *"}},
            "decorators": [{"tag": "before", "hook": {"command": "hooks/approve"}}],
        },
        {
            "match": {
                "args": {
                    "all": [
                        {"path": "env", "equals": "production"},
                        {"not": {"path": "dry_run", "equals": True}},
                    ]
                }
            },
            "decorators": [{"tag": "before", "hook": {"command": "hooks/approve"}}],
        },
    ],
}
"""The wrappers of the first seed, unchanged."""

WHOLE: dict[str, Any] = {
    "slug": "whole",
    "systemPrompt": ["one", "two"],
    "announce": "says all",
    "flavor": "OpenAIv1",
    "modelUrl": "http://localhost:1/v1",
    "modelName": "m",
    "apiKeyId": "main",
    "executionMode": "asynchronous",
    "asyncYieldStrategy": {"tag": "yieldOnTimeout", "milliseconds": 250},
    "maxConcurrency": 2,
    "sharedLimits": ["gpu"],
    "asyncCallTimeoutSeconds": 900,
    "queueTimeoutSeconds": 60,
    "toolCallPolicyConfig": {
        "default": {
            "tag": "decorate",
            "decorators": [{"tag": "label", "label": "outer"}],
            "inner": {"tag": "runAsync", "attachSeconds": 3, "queue": "slow"},
        },
        "rules": [
            {"tool": "deploy", "disposition": {"tag": "defer", "reason": "a person decides", "expiresSeconds": 60}},
            {"tool": "build", "disposition": {"tag": "runSync"}},
        ],
        "wrappers": [
            {
                "match": {
                    "tool": "http_*",
                    "args": {"any": [{"path": "", "exists": True}, {"not": {"path": "a.0", "glob": "x*"}}]},
                },
                "decorators": [
                    {"tag": "timeout", "seconds": 0.5},
                    {"tag": "retries", "count": 2, "backoffSeconds": 1, "on": ["timeout"]},
                    {"tag": "truncate", "maxBytes": 100},
                    {"tag": "before", "hook": {"command": "hooks/approve"}},
                    {"tag": "after", "hook": {"tool": "note"}},
                    {"tag": "rerunOnRestart", "times": 2},
                    {"tag": "limit", "name": "gpu"},
                    {"tag": "cancellable", "cancellable": False},
                ],
            },
            {"match": {"args": {"all": [{"path": "x", "equals": None}]}}, "decorators": []},
        ],
    },
    "builtinToolboxes": [SYSTEM_TOOLBOX],
    "bashToolboxes": [
        {"tag": "FileSystemDirectory", "contents": {"Path": "tools", "BasenameFilter": "*.sh", "Cwd": "work"}},
        {"tag": "SingleTool", "contents": {"Path": "one.sh"}},
    ],
    "toolDirectory": "more",
    "functionToolboxes": [{"tag": "Module", "contents": {"Module": "my_tools"}}],
    "mcpServers": [
        {
            "tag": "McpSimpleBinary",
            "contents": {
                "name": "files",
                "executable": "server",
                "args": ["-x"],
                "env": {"A": {"tag": "Literal", "contents": 1}, "B": {"tag": "Param", "contents": "p"}},
            },
        }
    ],
    "openApiToolboxes": [
        {
            "tag": "OpenAPIServer",
            "contents": {
                "SpecUrl": "http://localhost/spec",
                "BaseUrl": "http://localhost",
                "Headers": {"X": "y"},
                "Token": "t",
                "Bindings": [{"arg": "q", "value": {"tag": "Literal", "contents": "v"}}],
            },
        }
    ],
    "tools": ["*", "bash_*"],
    "parameters": [
        {
            "name": "city",
            "description": "where",
            "secret": True,
            "scope": "session",
            "required": False,
            "default": {"tag": "EnvVar", "contents": "CITY"},
        }
    ],
    "bindings": [{"tool": "http_*", "arg": "key", "value": {"secret": "KEY"}, "whenUnbound": "omit"}],
    "extraAgents": [{"slug": "helper", "path": "helper.json", "with": {"a": 1}, "narrowable": False}],
    "mailScope": "all",
    "interruptScope": "own",
    "interruptCompletions": True,
    "mailInToolResult": True,
    "pauseCancelsCalls": True,
    "resumeOnAnyMail": True,
    "registry": {
        "handles": True,
        "references": True,
        "onDuplicate": "attach",
        "duplicateScope": "name",
        "digest": True,
    },
    "delivery": {
        "style": "event",
        "maxResultBytes": 10,
        "maxItems": 2,
        "maxBytes": 3,
        "templates": {"newest": "Now: {name}", "buried": ["Earlier:", "{id}"]},
        "compactAfterTurns": 4,
    },
    "onRunEnd": "detach",
    "onRunFailure": "keep",
}
"""Says something other than the default at every key; valid, though not all of it is supported yet."""

DEFAULTS: dict[str, Any] = {
    "slug": "defaults",
    "systemPrompt": "",
    "announce": "",
    "flavor": "OpenAIv1",
    "executionMode": "synchronous",
    "asyncYieldStrategy": "yieldWhenAllDone",
    "maxConcurrency": 4,
    "sharedLimits": [],
    "queueTimeoutSeconds": 3600,
    "toolCallPolicyConfig": {"default": {"tag": "runSync"}, "rules": [], "wrappers": []},
    "bashToolboxes": [],
    "functionToolboxes": [],
    "mcpServers": [],
    "openApiToolboxes": [],
    "tools": [],
    "parameters": [],
    "bindings": [],
    "extraAgents": [],
    "mailScope": "subtree",
    "interruptScope": "children",
    "interruptCompletions": False,
    "mailInToolResult": False,
    "pauseCancelsCalls": False,
    "resumeOnAnyMail": False,
    "registry": {
        "handles": False,
        "references": False,
        "onDuplicate": "allow",
        "duplicateScope": "name_and_args",
        "digest": False,
    },
    "delivery": {"style": "notice", "maxResultBytes": 65536},
    "onRunEnd": "wait",
    "onRunFailure": "cancel",
}
"""Every default that the contract writes down, written out."""


def agent_of(**keys: Any) -> Agent:
    """An agent from keys as they stand in a file."""
    return parse_agent(json.dumps({"slug": "a", **keys}), origin="test")


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)


@st.composite
def mutated(draw: st.DrawFn) -> Any:
    """The whole format with one or two places replaced by anything, taken out or added to."""
    document = copy.deepcopy(WHOLE)
    for _ in range(draw(st.integers(1, 2))):
        place: Any = document
        while True:
            key = draw(st.sampled_from(list(place) if isinstance(place, dict) else range(len(place))))
            if not (isinstance(place[key], dict | list) and place[key]) or draw(st.integers(0, 3)) == 0:
                break
            place = place[key]
        place[key] = draw(_JSON)
    return document
