"""Every key of the agent file: it acts in this version, or it is refused with its reason."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import pytest
from pydantic import JsonValue
from tests.unit.agent_file_texts import DEFAULTS, WHOLE, agent_of

from errands_config.agent import Agent, parse_agent
from errands_config.agent_file.not_yet import NOT_YET
from errands_config.agent_schema import agent_schema
from errands_config.errors import NotSupportedYet
from errands_config.policy import compile_policy
from errands_config.wire import Bound, SharedLimit

Keys = Mapping[str, Any]


@dataclass(frozen=True)
class Acts:
    """The keys written, and what is seen of them."""

    written: Keys
    seen: Callable[[Agent], object]
    value: object


@dataclass(frozen=True)
class Refused:
    """The keys written, the path that the refusal names, and its reason."""

    written: Keys
    path: str
    reason: str


def policy(**keys: Any) -> Keys:
    return {"executionMode": "asynchronous", "toolCallPolicyConfig": keys}


def rule(disposition: Keys) -> Keys:
    return policy(rules=[{"tool": "t", "disposition": disposition}])


def of_t(agent: Agent) -> Any:
    return compile_policy(agent).resolve("t", {})


def first_bash(agent: Agent) -> Any:
    return agent.bash_toolboxes[0].contents


def folder(**contents: str) -> Keys:
    return {"bashToolboxes": [{"tag": "FileSystemDirectory", "contents": {"Path": "p", **contents}}]}


def system(**contents: Any) -> Keys:
    toolbox = {"tag": "SystemToolbox", "contents": {"Capabilities": [], **contents}}
    return {"executionMode": "asynchronous", "builtinToolboxes": [toolbox]}


def system_contents(agent: Agent) -> Any:
    assert agent.builtin_toolboxes is not None
    return agent.builtin_toolboxes[0].contents


def part(key: str) -> Keys:
    """The part of the whole format at this key, alone."""
    return {key: WHOLE[key]}


def wrapper(match: Keys | None = None, *decorators: Keys) -> Keys:
    return policy(wrappers=[{"match": match or {}, "decorators": decorators}])


def again(times: int, *, tool: str = "*") -> Keys:
    return wrapper({"tool": tool}, {"tag": "rerunOnRestart", "times": times})


def looking(predicate: Keys) -> Acts:
    """A wrapper that looks at the arguments `{"a": ["x"]}` and finds what it wants there and not in others."""
    written = wrapper({"args": predicate}, {"tag": "label", "label": "seen"})
    return Acts(written, lambda agent: [compile_policy(agent).resolve("t", it).label for it in SENT], ["seen", ""])


SENT: tuple[JsonValue, ...] = ({"a": ["x"]}, {"b": ["y"]})
X = {"path": "a.0", "equals": "x"}
GPU = SharedLimit(name="gpu", concurrency=1)


def around(decorator: Keys, seen: str, value: object) -> Acts:
    """A decorator that the worker carries out, and one field of what it is told."""
    return Acts(wrapper({}, decorator), lambda agent: attrgetter(seen)(of_t(agent).around[0]), value)


def fact(decorator: Keys, seen: str, value: object) -> Acts:
    """A decorator that is a field of the policy."""
    return Acts(wrapper({}, decorator), lambda agent: getattr(of_t(agent), seen), value)


def deferring(key: str, written: object, seen: str) -> Acts:
    """A key of a `defer` and what becomes of it."""
    terms = {"tag": "defer", "reason": "r", key: written}
    return Acts(rule(terms), lambda agent: getattr(of_t(agent).defer, seen), written)


def parameter(key: str, written: object, seen: Callable[[Any], object]) -> Acts:
    """A key of a parameter."""
    parameters = [{"name": "p", key: written}]
    return Acts({"parameters": parameters}, lambda agent: seen(agent.parameters[0]), written)


def heading(key: str) -> Keys:
    """A heading of late results."""
    return {"delivery": {"templates": {key: "{name}:"}}}


def binding(**keys: Any) -> Keys:
    return {"bindings": [{"arg": "k", "value": {"tag": "Literal", "contents": 1}, **keys}]}


ACTS: Mapping[str, Acts] = {
    "Agent.sharedLimits": Acts({"sharedLimits": ["gpu"]}, lambda agent: agent.shared_limits, ("gpu",)),
    "ToolCallPolicyConfig.wrappers": Acts(again(3), lambda agent: of_t(agent).rerun_times, 3),
    "Wrapper.match": Acts(again(3, tool="t"), lambda agent: of_t(agent).rerun_times, 3),
    "Wrapper.decorators": Acts(again(3), lambda agent: of_t(agent).rerun_times, 3),
    "Match.args": looking(X),
    "Equals.path": looking(X),
    "Equals.equals": looking(X),
    "Glob.path": looking({"path": "a.0", "glob": "x*"}),
    "Glob.glob": looking({"path": "a.0", "glob": "x*"}),
    "Exists.path": looking({"path": "b", "exists": False}),
    "Exists.exists": looking({"path": "b", "exists": False}),
    "AllOf.all": looking({"all": [X, {"path": "a", "exists": True}]}),
    "AnyOf.any": looking({"any": [X, {"path": "c", "exists": True}]}),
    "Not.not": looking({"not": {"path": "b", "exists": True}}),
    "Timeout.seconds": around({"tag": "timeout", "seconds": 7}, "seconds", 7),
    "Retries.count": around({"tag": "retries", "count": 7}, "count", 7),
    "Retries.backoffSeconds": around({"tag": "retries", "count": 1, "backoffSeconds": 7}, "backoff_seconds", 7),
    "Retries.on": around({"tag": "retries", "count": 1, "on": ["error"]}, "on", ("error",)),
    "Truncate.maxBytes": around({"tag": "truncate", "maxBytes": 7}, "max_bytes", 7),
    "Before.hook": around({"tag": "before", "hook": {"command": "hooks/h"}}, "hook.name", "h"),
    "After.hook": around({"tag": "after", "hook": {"tool": "note"}}, "hook.name", "note"),
    "Hook.command": around({"tag": "before", "hook": {"command": "h"}}, "hook.kind", "command"),
    "Hook.tool": around({"tag": "before", "hook": {"tool": "h"}}, "hook.kind", "tool"),
    "Label.label": fact({"tag": "label", "label": "word"}, "label", "word"),
    "Cancellable.cancellable": fact({"tag": "cancellable", "cancellable": False}, "cancellable", False),
    "Limit.name": Acts(
        wrapper({}, {"tag": "limit", "name": "gpu"}),
        lambda agent: compile_policy(agent, [GPU]).resolve("t", {}).limits,
        (GPU,),
    ),
    "Defer.reason": deferring("reason", "because", "reason"),
    "Defer.expiresSeconds": deferring("expiresSeconds", 5, "expires_seconds"),
    "Defer.attached": deferring("attached", False, "attached"),
    "Decorate.decorators": Acts(
        rule({"tag": "decorate", "decorators": [{"tag": "label", "label": "x"}], "inner": {"tag": "runSync"}}),
        lambda agent: of_t(agent).label,
        "x",
    ),
    "Agent.parameters": Acts({"parameters": [{"name": "p"}]}, lambda agent: len(agent.parameters), 1),
    "Parameter.name": parameter("name", "q", lambda it: it.name),
    "Parameter.description": parameter("description", "d", lambda it: it.description),
    "Parameter.secret": parameter("secret", True, lambda it: it.secret),
    "Parameter.scope": parameter("scope", "session", lambda it: it.scope),
    "Parameter.required": parameter("required", False, lambda it: it.required),
    "Parameter.default": parameter("default", {"tag": "Given", "contents": 7}, lambda it: it.default.model_dump()),
    "Agent.bindings": Acts(binding(), lambda agent: of_t(agent).bound, (Bound(arg="k", binding=0),)),
    "Binding.arg": Acts(binding(arg="q"), lambda agent: of_t(agent).bound[0].arg, "q"),
    "Binding.tool": Acts(binding(tool="x*"), lambda agent: of_t(agent).bound, ()),
    "Binding.value": Acts(binding(), lambda agent: agent.bindings[0].value.model_dump()["contents"], 1),
    "Binding.whenUnbound": Acts(binding(whenUnbound="omit"), lambda agent: agent.bindings[0].when_unbound, "omit"),
    "SecretValue.secret": Acts(
        binding(value={"secret": "KEY"}), lambda agent: agent.bindings[0].value.model_dump()["secret"], "KEY"
    ),
    "Match.tool": Acts(again(3, tool="t*"), lambda agent: of_t(agent).rerun_times, 3),
    "RerunOnRestart.times": Acts(again(3), lambda agent: of_t(agent).rerun_times, 3),
    "Agent.interruptCompletions": Acts({"interruptCompletions": True}, lambda agent: agent.interrupt_completions, True),
    "Agent.mailInToolResult": Acts({"mailInToolResult": True}, lambda agent: agent.mail_in_tool_result, True),
    "Agent.pauseCancelsCalls": Acts({"pauseCancelsCalls": True}, lambda agent: agent.pause_cancels_calls, True),
    "Agent.resumeOnAnyMail": Acts({"resumeOnAnyMail": True}, lambda agent: agent.resume_on_any_mail, True),
    "Agent.onRunEnd": Acts({"onRunEnd": "detach"}, lambda agent: agent.on_run_end, "detach"),
    "Agent.onRunFailure": Acts({"onRunFailure": "keep"}, lambda agent: agent.on_run_failure, "keep"),
    "Delivery.maxResultBytes": Acts(
        {"delivery": {"maxResultBytes": 7}}, lambda agent: agent.delivery.max_result_bytes, 7
    ),
    "Registry.digest": Acts({"registry": {"digest": True}}, lambda agent: agent.registry.digest, True),
    "Agent.delivery": Acts({"delivery": {"style": "event"}}, lambda agent: agent.delivery.style, "event"),
    "Delivery.style": Acts({"delivery": {"style": "event"}}, lambda agent: agent.delivery.style, "event"),
    "Delivery.maxItems": Acts({"delivery": {"maxItems": 7}}, lambda agent: agent.delivery.max_items, 7),
    "Delivery.maxBytes": Acts({"delivery": {"maxBytes": 7}}, lambda agent: agent.delivery.max_bytes, 7),
    "Delivery.compactAfterTurns": Acts(
        {"delivery": {"compactAfterTurns": 7}}, lambda agent: agent.delivery.compact_after_turns, 7
    ),
    "Delivery.templates": Acts(heading("newest"), lambda agent: agent.delivery.templates.newest, "{name}:"),
    "Templates.newest": Acts(heading("newest"), lambda agent: agent.delivery.templates.newest, "{name}:"),
    "Templates.buried": Acts(heading("buried"), lambda agent: agent.delivery.templates.buried, "{name}:"),
    "Agent.slug": Acts({"slug": "b"}, lambda agent: agent.slug, "b"),
    "Agent.systemPrompt": Acts({"systemPrompt": ["x", "y"]}, lambda agent: agent.system_prompt, "x\ny"),
    "Agent.announce": Acts({"announce": "x"}, lambda agent: agent.announce, "x"),
    "Agent.flavor": Acts({"flavor": "Scripted"}, lambda agent: agent.flavor, "Scripted"),
    "Agent.asyncTools": Acts({"flavor": "OpenAIResponses", "asyncTools": True}, lambda agent: agent.async_tools, True),
    "Agent.modelUrl": Acts({"modelUrl": "http://h/v1"}, lambda agent: agent.model_url, "http://h/v1"),
    "Agent.modelName": Acts({"modelName": "m"}, lambda agent: agent.model_name, "m"),
    "Agent.apiKeyId": Acts({"apiKeyId": "main"}, lambda agent: agent.api_key_id, "main"),
    "Agent.executionMode": Acts(policy(default={"tag": "runAsync"}), lambda agent: of_t(agent).disposition, "runAsync"),
    "Agent.asyncYieldStrategy": Acts(
        {"asyncYieldStrategy": "yieldOnAnyProgress"}, lambda agent: agent.async_yield_strategy, "yieldOnAnyProgress"
    ),
    "YieldOnTimeout.milliseconds": Acts(
        {"asyncYieldStrategy": {"tag": "yieldOnTimeout", "milliseconds": 7}},
        lambda agent: getattr(agent.async_yield_strategy, "milliseconds", None),
        7,
    ),
    "Agent.maxConcurrency": Acts({"maxConcurrency": 7}, lambda agent: agent.max_concurrency, 7),
    "Agent.asyncCallTimeoutSeconds": Acts(
        {"executionMode": "asynchronous", "asyncCallTimeoutSeconds": 7}, lambda agent: of_t(agent).timeout_seconds, 7
    ),
    "Agent.queueTimeoutSeconds": Acts({"queueTimeoutSeconds": 7}, lambda agent: of_t(agent).queue_timeout_seconds, 7),
    "Agent.toolCallPolicyConfig": Acts(
        policy(default={"tag": "runAsync"}), lambda agent: of_t(agent).disposition, "runAsync"
    ),
    "ToolCallPolicyConfig.default": Acts(
        policy(default={"tag": "runAsync"}), lambda agent: of_t(agent).disposition, "runAsync"
    ),
    "ToolCallPolicyConfig.rules": Acts(rule({"tag": "runAsync"}), lambda agent: of_t(agent).disposition, "runAsync"),
    "Rule.tool": Acts(
        rule({"tag": "runAsync"}),
        lambda agent: [compile_policy(agent).resolve(tool, {}).disposition for tool in "tu"],
        ["runAsync", "runSync"],
    ),
    "Rule.disposition": Acts(rule({"tag": "runAsync"}), lambda agent: of_t(agent).disposition, "runAsync"),
    "RunAsync.attachSeconds": Acts(
        rule({"tag": "runAsync", "attachSeconds": 3}), lambda agent: of_t(agent).attach_seconds, 3
    ),
    "RunAsync.queue": Acts(rule({"tag": "runAsync", "queue": "q"}), lambda agent: of_t(agent).queue, "q"),
    "Decorate.inner": Acts(
        rule({"tag": "decorate", "decorators": [], "inner": {"tag": "runAsync"}}),
        lambda agent: of_t(agent).disposition,
        "runAsync",
    ),
    "Agent.builtinToolboxes": Acts(
        system(Capabilities=["cancel-tool-call"]), lambda agent: agent.capabilities, ("cancel-tool-call",)
    ),
    "SystemContents.Capabilities": Acts(
        system(Capabilities=["cancel-tool-call"]), lambda agent: agent.capabilities, ("cancel-tool-call",)
    ),
    "SystemContents.Name": Acts(system(Name="n"), lambda agent: system_contents(agent).name, "n"),
    "SystemContents.Description": Acts(system(Description="d"), lambda agent: system_contents(agent).description, "d"),
    "Agent.bashToolboxes": Acts(folder(), lambda agent: len(agent.bash_toolboxes), 1),
    "FolderContents.Path": Acts(folder(Path="q"), lambda agent: first_bash(agent).path, "q"),
    "FolderContents.BasenameFilter": Acts(
        folder(BasenameFilter="*.sh"), lambda agent: first_bash(agent).basename_filter, "*.sh"
    ),
    "FolderContents.Cwd": Acts(folder(Cwd="w"), lambda agent: first_bash(agent).cwd, "w"),
    "FileContents.Path": Acts(
        {"bashToolboxes": [{"tag": "SingleTool", "contents": {"Path": "f"}}]},
        lambda agent: first_bash(agent).path,
        "f",
    ),
    "Agent.toolDirectory": Acts({"toolDirectory": "d"}, lambda agent: agent.tool_directory, "d"),
    "Agent.functionToolboxes": Acts(
        {"functionToolboxes": [{"tag": "Module", "contents": {"Module": "m"}}]},
        lambda agent: len(agent.function_toolboxes),
        1,
    ),
    "ModuleContents.Module": Acts(
        {"functionToolboxes": [{"tag": "Module", "contents": {"Module": "m"}}]},
        lambda agent: agent.function_toolboxes[0].contents.module,
        "m",
    ),
    "Agent.tools": Acts({"tools": ["x_*"]}, lambda agent: agent.tools, ("x_*",)),
    "Agent.registry": Acts({"registry": {}}, lambda agent: agent.has_registry, True),
    "Registry.handles": Acts({"registry": {"handles": True}}, lambda agent: agent.registry.handles, True),
    "Registry.references": Acts({"registry": {"references": True}}, lambda agent: agent.registry.references, True),
    "Registry.onDuplicate": Acts(
        {"registry": {"onDuplicate": "attach"}}, lambda agent: agent.registry.on_duplicate, "attach"
    ),
    "Registry.duplicateScope": Acts(
        {"registry": {"duplicateScope": "name"}}, lambda agent: agent.registry.duplicate_scope, "name"
    ),
}


def one(key: str, inner: str) -> Keys:
    return {key: {inner: WHOLE[key][inner]}}


MCP, OPEN_API, HELPER = part("mcpServers"), part("openApiToolboxes"), part("extraAgents")

REFUSED: Mapping[str, Refused] = {
    "Agent.mcpServers": Refused(MCP, "mcpServers", "tools of MCP servers"),
    **{
        f"McpContents.{key}": Refused(MCP, "mcpServers", "tools of MCP servers")
        for key in ("name", "executable", "args", "env")
    },
    "Agent.openApiToolboxes": Refused(OPEN_API, "openApiToolboxes", "tools of HTTP APIs"),
    **{
        f"OpenApiContents.{key}": Refused(OPEN_API, "openApiToolboxes", "tools of HTTP APIs")
        for key in ("SpecUrl", "BaseUrl", "Headers", "Token", "Bindings")
    },
    "Agent.extraAgents": Refused(HELPER, "extraAgents", "helpers"),
    **{
        f"ExtraAgent.{key}": Refused(HELPER, "extraAgents", "helpers") for key in ("slug", "path", "with", "narrowable")
    },
    "Agent.mailScope": Refused(part("mailScope"), "mailScope", "mail between sessions"),
    "Agent.interruptScope": Refused(part("interruptScope"), "interruptScope", "interrupt mail"),
}

ASKING = {"tag": "SystemToolbox", "contents": {"Capabilities": ["ask-user"]}}
VALUES_REFUSED: tuple[Refused, ...] = ()
"""Values that are refused at keys which act otherwise."""


def load(written: Keys) -> Agent:
    return parse_agent(json.dumps({"slug": "a", **written}), origin="test", api_key_ids=["main"])


@pytest.mark.parametrize("row", ACTS.values(), ids=ACTS)
def test_a_key_that_acts_is_seen(row: Acts) -> None:
    assert row.seen(load(row.written)) == row.value


@pytest.mark.parametrize("name", [name for name in ACTS if name.startswith("Agent.")])
def test_what_is_seen_of_a_key_is_not_there_without_it(name: str) -> None:
    assert ACTS[name].seen(agent_of()) != ACTS[name].value


@pytest.mark.parametrize("row", [*REFUSED.values(), *VALUES_REFUSED], ids=[*REFUSED, *(v.path for v in VALUES_REFUSED)])
def test_a_key_of_a_later_version_is_refused_with_its_reason(row: Refused) -> None:
    with pytest.raises(NotSupportedYet) as raised:
        load(row.written)
    assert raised.value.path == row.path
    assert "not supported yet" in str(raised.value)
    assert row.reason in str(raised.value)


def test_every_key_of_the_format_is_in_one_of_the_tables() -> None:
    parts = json.loads(agent_schema())["$defs"]
    form = {"tag", "contents", "$schema"}
    keys = {
        f"{name}.{key}"
        for name, schema in parts.items()
        if name not in {"Envelope", "JsonValue"}
        for key in schema.get("properties", {})
        if key not in form
    }
    assert ACTS.keys() | REFUSED.keys() == keys
    assert not ACTS.keys() & REFUSED.keys()


def test_every_row_of_what_is_not_supported_yet_refuses_something() -> None:
    paths = [refused.path for refused in (*REFUSED.values(), *VALUES_REFUSED)]
    assert {re.sub(r"\[\d+\]", ".*", path) for path in paths} == {row.place for row in NOT_YET}


def test_the_documented_defaults_may_be_written_out() -> None:
    assert parse_agent(json.dumps(DEFAULTS), origin="test").slug == "defaults"


@pytest.mark.parametrize(
    "keys",
    [
        {"onRunEnd": "wait"},
        {"builtinToolboxes": [{"tag": "SystemToolbox", "contents": {"Capabilities": ["send-to-tool-call"]}}]},
        {"toolCallPolicyConfig": {"default": {"tag": "runAsync", "attachSeconds": 0, "queue": "slow"}}},
        {"delivery": {"maxItems": None, "templates": {}}},
        {"executionMode": "asynchronous", "builtinToolboxes": [ASKING]},
        {"toolCallPolicyConfig": {"default": {"tag": "defer", "reason": "r"}}},
    ],
)
def test_values_that_this_version_honours_are_accepted(keys: dict[str, Any]) -> None:
    assert agent_of(**keys).slug == "a"
