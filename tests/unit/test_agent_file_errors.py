"""Loading an agent file: what is said about a bad one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.agent_file_texts import WHOLE, mutated

from errands_config.agent import load_agent, parse_agent
from errands_config.agent_file.not_yet import refusals
from errands_config.errors import ConfigError, NotSupportedYet


def error_of(text: str | bytes, **options: Any) -> ConfigError:
    with pytest.raises(ConfigError) as raised:
        parse_agent(text, origin="a.json", **options)
    return raised.value


def mistake_in(**keys: Any) -> ConfigError:
    error = error_of(json.dumps({"slug": "a", **keys}))
    assert not isinstance(error, NotSupportedYet)
    return error


def guarded(args: object) -> dict[str, Any]:
    """A policy whose second wrapper has this predicate."""
    return {"wrappers": [{"match": {}, "decorators": []}, {"match": {"args": args}, "decorators": []}]}


def decorated(decorator: object) -> dict[str, Any]:
    return {"wrappers": [{"match": {}, "decorators": [decorator]}]}


def hooked(command: str) -> dict[str, Any]:
    return decorated({"tag": "after", "hook": {"command": command}})


def system(*capabilities: str) -> list[Any]:
    return [{"tag": "SystemToolbox", "contents": {"Capabilities": list(capabilities)}}]


@pytest.mark.parametrize(
    ("keys", "path", "says"),
    [
        ({"slug": "a b"}, "slug", 'a name of 1 to 48 letters, digits, _ or - is expected, got "a b"'),
        ({"slug": "a" * 49}, "slug", "1 to 48"),
        ({"slug": "a\n"}, "slug", "1 to 48"),
        ({"slug": 7}, "slug", "a string is expected, got 7"),
        ({"slug": None}, "slug", "a string is expected, got null"),
        ({"systemPrompt": ["a", 3]}, "systemPrompt[1]", "a string is expected, got 3"),
        ({"systemPrompt": {}}, "systemPrompt", "a string is expected, got {}"),
        ({"maxConcurrency": 0}, "maxConcurrency", "must be at least 1, got 0"),
        ({"maxConcurrency": "4"}, "maxConcurrency", 'a whole number is expected, got "4"'),
        ({"maxConcurrency": True}, "maxConcurrency", "a whole number is expected, got true"),
        ({"maxConcurrency": 1.5}, "maxConcurrency", "a whole number is expected, got 1.5"),
        ({"asyncCallTimeoutSeconds": 0.5}, "asyncCallTimeoutSeconds", "must be at least 1, got 0.5"),
        ({"asyncCallTimeoutSeconds": 1e12}, "asyncCallTimeoutSeconds", "must be at most 315360000"),
        ({"queueTimeoutSeconds": "1h"}, "queueTimeoutSeconds", 'a number is expected, got "1h"'),
        ({"executionMode": "async"}, "executionMode", '(did you mean "asynchronous"?)'),
        ({"flavor": "openaiv1"}, "flavor", '(did you mean "OpenAIv1"?)'),
        ({"asyncYieldStrategy": "yieldOnAny"}, "asyncYieldStrategy", '(did you mean "yieldOnAnyProgress"?)'),
        ({"asyncYieldStrategy": {"tag": "yieldOnTimeout"}}, "asyncYieldStrategy.milliseconds", "required"),
        ({"asyncYieldStrategy": {"tag": "yieldWhenAllDone"}}, "asyncYieldStrategy.tag", "unknown tag"),
        ({"asyncYieldStrategy": {"tag": ["x"]}}, "asyncYieldStrategy.tag", 'unknown tag ["x"]'),
        ({"asyncTools": True}, "asyncTools", 'only "flavor": "OpenAIResponses" has such tools; leave it out'),
        ({"modelUrl": "api.example/v1"}, "modelUrl", "a URL with http:// or https:// is expected"),
        ({"modelName": ""}, "modelName", "must not be empty"),
        ({"tools": "*"}, "tools", 'a list is expected, got "*"'),
        ({"tools": ["a b"]}, "tools[0]", "* stands for any run of characters"),
        ({"interruptCompletions": "yes"}, "interruptCompletions", "true or false is expected"),
        ({"registry": []}, "registry", "an object is expected, got []"),
        ({"delivery": None}, "delivery", "an object is expected, got null"),
        ({"maxConcurency": 2}, "maxConcurency", 'unknown key (did you mean "maxConcurrency"?)'),
        ({"max_concurrency": 2}, "max_concurrency", 'unknown key (did you mean "maxConcurrency"?)'),
        ({"registry": {"zzz": 1}}, "registry.zzz", "known here: handles, references, onDuplicate"),
        ({"an odd.key": 1}, '["an odd.key"]', "unknown key"),
        ({"builtinToolboxes": [{"tag": "LuaToolbox"}]}, "builtinToolboxes[0].tag", '"SystemToolbox" is expected'),
        ({"builtinToolboxes": system("cancel")}, "builtinToolboxes[0].contents.Capabilities[0]", "one of"),
        (
            {"bashToolboxes": [{"tag": "SingleTool", "contents": {"path": "x"}}]},
            "bashToolboxes[0].contents.path",
            "Path",
        ),
        ({"bashToolboxes": [{"contents": {}}]}, "bashToolboxes[0].tag", "required, but missing; one of"),
        ({"bashToolboxes": ["tools"]}, "bashToolboxes[0]", "an object with"),
    ],
)
def test_a_mistake_is_named_with_its_path(keys: dict[str, Any], path: str, says: str) -> None:
    error = mistake_in(**keys)
    assert error.path == path
    assert str(error).startswith(f"{path}: ")
    assert says in str(error)
    assert str(error).endswith("(in a.json)")


@pytest.mark.parametrize(
    ("policy", "path", "says"),
    [
        (
            guarded({"all": [{"path": "env", "equal": 1}]}),
            "wrappers[1].match.args.all[0].equal",
            'did you mean "equals"',
        ),
        (
            guarded({"not": {"path": "a", "startsWith": "b"}}),
            "wrappers[1].match.args.not.startsWith",
            "unknown operator",
        ),
        (guarded({"path": "a", "equals": 1, "glob": "b"}), "wrappers[1].match.args", "two operators in one object"),
        (
            guarded({"path": "a", "equals": 1, "al": []}),
            "wrappers[1].match.args.al",
            "unknown key; known here: path, equals",
        ),
        (guarded({"path": "a"}), "wrappers[1].match.args", "no operator; one of"),
        (guarded({"any": [[]]}), "wrappers[1].match.args.any[0]", "a predicate is an object"),
        (guarded({"equals": 1}), "wrappers[1].match.args.path", "required, but missing"),
        (guarded({"path": "a", "glob": 1}), "wrappers[1].match.args.glob", "a string is expected"),
        (guarded({"path": "a", "exists": "yes"}), "wrappers[1].match.args.exists", "true or false"),
        (decorated({"tag": "retry"}), "wrappers[0].decorators[0].tag", 'did you mean "retries"'),
        (decorated({"tag": "retries"}), "wrappers[0].decorators[0].count", "required"),
        (decorated({"tag": "retries", "count": 1, "on": ["fail"]}), "wrappers[0].decorators[0].on[0]", '"error"'),
        (decorated({"tag": "timeout", "seconds": 0}), "wrappers[0].decorators[0].seconds", "must be more than 0"),
        (decorated({"tag": "before", "hook": {}}), "wrappers[0].decorators[0].hook", "exactly one of"),
        (
            hooked("bin/approve"),
            "wrappers[0].decorators[0].hook.command",
            'got "bin/approve" (did you mean "approve"?)',
        ),
        (
            hooked("../approve"),
            "wrappers[0].decorators[0].hook.command",
            "a worker looks for it in its --hooks folders",
        ),
        (hooked("/usr/bin/true"), "wrappers[0].decorators[0].hook.command", '"approve" or "hooks/approve"'),
        (hooked("./hooks/approve"), "wrappers[0].decorators[0].hook.command", "the name of a hook is expected"),
        (hooked("hooks/../x"), "wrappers[0].decorators[0].hook.command", "the name of a hook is expected"),
        (hooked("hooks/"), "wrappers[0].decorators[0].hook.command", "the name of a hook is expected"),
        (hooked(".."), "wrappers[0].decorators[0].hook.command", "not beginning with a dot"),
        (hooked("approve -f"), "wrappers[0].decorators[0].hook.command", "1 to 64 letters"),
        (hooked("a" * 65), "wrappers[0].decorators[0].hook.command", "1 to 64 letters"),
        (
            {"default": {"tag": "decorate", "inner": {"tag": "runSync"}, "decorators": [{"tag": "timeout"}]}},
            "default.decorators[0].seconds",
            "required",
        ),
        (
            {"rules": [{"tool": "bash_*", "disposition": {"tag": "runSync"}}]},
            "rules[0].tool",
            "the exact name of a tool",
        ),
        ({"rules": [{"tool": "ask-user", "disposition": {"tag": "runSync"}}]}, "rules[0].tool", "is a capability"),
        ({"rules": [{"disposition": {"tag": "runSync"}}]}, "rules[0].tool", "required"),
        ({"default": {"tag": "runIsolated"}}, "default.tag", 'unknown tag "runIsolated"'),
        ({"default": "runAsync"}, "default", "an object with"),
        ({"default": {"tag": "runAsync", "queue": "a/b"}}, "default.queue", "letters, digits, _, . or -"),
        ({"default": {"tag": "runAsync", "attach": 1}}, "default.attach", 'did you mean "attachSeconds"'),
        ({"default": {"tag": "defer"}}, "default.reason", "required"),
        (
            {"default": {"tag": "decorate", "decorators": [], "inner": {"tag": "runASync"}}},
            "default.inner.tag",
            'did you mean "runAsync"',
        ),
    ],
)
def test_a_mistake_in_the_policy_is_named_before_any_refusal(policy: dict[str, Any], path: str, says: str) -> None:
    error = mistake_in(toolCallPolicyConfig=policy, mailScope="all", onRunEnd="detach")
    assert error.path == f"toolCallPolicyConfig.{path}"
    assert says in str(error)


def test_all_mistakes_of_a_file_are_told_at_once() -> None:
    error = error_of('{"slugg": "a", "maxConcurrency": 0, "registry": {"handles": 1}}')
    assert str(error).splitlines() == [
        "maxConcurrency: must be at least 1, got 0 (in a.json)",
        "registry.handles: true or false is expected, got 1 (in a.json)",
        'slugg: unknown key (did you mean "slug"?) (in a.json)',
    ]


def test_a_missing_slug_is_said_to_be_missing() -> None:
    assert str(error_of("{}")) == "slug: required, but missing (in a.json)"


def test_a_flood_of_mistakes_is_cut() -> None:
    lines = str(mistake_in(tools=[""] * 50)).splitlines()
    assert len(lines) == 21
    assert lines[-1] == "and 30 more (in a.json)"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not valid JSON at line 1, column 1"),
        ('{"slug": "a",\n  "tools": [*]}', "not valid JSON at line 2, column 13"),
        ('{"slug": "a"} {}', "not valid JSON at line 1, column 15"),
        ('{"slug": NaN}', "NaN is not a JSON number"),
        (b"\xff", "not UTF-8 text: byte 0"),
        ("[" * 100_000, "nested more than 64 levels deep"),
        ('{"slug": ' + "[" * 70 + "]" * 70 + "}", "nested more than 64 levels deep"),
        ('{"maxConcurrency": ' + "1" * 5000 + "}", "a number of 5000 digits is too large"),
        ("[]", "an object is expected, got []"),
        ('"x"', 'an object is expected, got "x"'),
    ],
)
def test_a_text_that_is_no_agent_at_all_is_refused(text: str | bytes, says: str) -> None:
    error = error_of(text)
    assert says in str(error)
    assert error.path == ""


@pytest.mark.parametrize(
    ("text", "path", "says"),
    [
        ('{"slug": "a", "slug": "b"}', "slug", "more than once"),
        (
            '{"slug": "a", "registry": {"digest": true, "handles": true, "digest": false}}',
            "registry.digest",
            "more than",
        ),
        ('{"tools": [{"a": {"b": 1, "b": 2}}]}', "tools[0].a.b", "more than once"),
        ('{"announce": "\\ud800"}', "announce", "half of a surrogate pair"),
        ('{"registry": {"\\udfff": 1}}', "registry", "half of a surrogate pair"),
        ('{"queueTimeoutSeconds": 1e999}', "queueTimeoutSeconds", "too large"),
    ],
)
def test_json_that_could_be_misread_is_refused(text: str, path: str, says: str) -> None:
    error = error_of(text)
    assert error.path == path
    assert says in str(error)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ('{"tag": "Other", "contents": {"slug": "a"}}', "tag"),
        ('{"tag": "OpenAIAgentDescription"}', "contents"),
        ('{"tag": "OpenAIAgentDescription", "contents": []}', "contents"),
        ('{"tag": "OpenAIAgentDescription", "contents": {"slug": "a"}, "slug": "b"}', "slug"),
        ('{"tag": "OpenAIAgentDescription", "contents": {"slug": "a", "tag": "x"}}', "tag"),
    ],
)
def test_a_wrong_envelope_is_refused(text: str, path: str) -> None:
    assert error_of(text).path == path


def test_a_key_that_the_settings_do_not_list_is_refused_with_those_they_do() -> None:
    text = '{"slug": "a", "apiKeyId": "mian"}'
    assert str(error_of(text, api_key_ids=["other", "main"])) == (
        'apiKeyId: no key "mian" in the settings (did you mean "main"?); known: main, other (in a.json)'
    )
    assert "the settings list no keys" in str(error_of(text))


def test_a_missing_file_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nobody\.json: no such agent file"):
        load_agent(tmp_path / "nobody.json")
    with pytest.raises(ConfigError, match="Is a directory"):
        load_agent(tmp_path)


def test_the_file_is_named_in_its_errors(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("{}")
    with pytest.raises(ConfigError) as raised:
        load_agent(path)
    assert f"(in {path})" in str(raised.value)


LIMIT = {"tag": "limit", "name": "gqu"}
DECORATE = {"tag": "decorate", "decorators": [{"tag": "label", "label": "x"}, LIMIT], "inner": {"tag": "runSync"}}


@pytest.mark.parametrize(
    ("keys", "path"),
    [
        ({"sharedLimits": ["gpu", "gqu"]}, "sharedLimits[1]"),
        ({"toolCallPolicyConfig": decorated(LIMIT)}, "toolCallPolicyConfig.wrappers[0].decorators[0].name"),
        ({"toolCallPolicyConfig": {"default": DECORATE}}, "toolCallPolicyConfig.default.decorators[1].name"),
        (
            {
                "toolCallPolicyConfig": {
                    "rules": [{"tool": "t", "disposition": {"tag": "decorate", "decorators": [], "inner": DECORATE}}]
                }
            },
            "toolCallPolicyConfig.rules[0].disposition.inner.decorators[1].name",
        ),
    ],
)
def test_a_limit_that_the_settings_do_not_define_is_named_with_its_path(keys: dict[str, Any], path: str) -> None:
    error = error_of(json.dumps({"slug": "a", **keys}), limit_names=["gpu", "net"])
    assert str(error) == (f'{path}: no limit "gqu" in the settings (did you mean "gpu"?); known: gpu, net (in a.json)')


def test_a_synchronous_agent_cannot_let_its_model_ask_its_user() -> None:
    error = mistake_in(builtinToolboxes=[*system("cancel-tool-call"), *system("list-running-tool-calls", "ask-user")])
    assert error.path == "builtinToolboxes[1].contents.Capabilities[1]"
    assert '"ask-user" needs "executionMode": "asynchronous"' in str(error)


def test_everything_that_is_not_supported_yet_is_told_at_once() -> None:
    with pytest.raises(NotSupportedYet) as raised:
        parse_agent(json.dumps(WHOLE), origin="a.json", api_key_ids=["main"])
    told = str(raised.value)
    assert told.count("not supported yet") == len(list(refusals(WHOLE))) > 1
    assert raised.value.path == "mcpServers"


def is_read_or_refused(text: str | bytes) -> bool:
    """Whether loading ends in an agent or in a ConfigError; anything else goes through."""
    try:
        return parse_agent(text, origin="a.json", api_key_ids=["main"]).slug != ""
    except ConfigError as error:
        return str(error) != ""


@given(mutated())
def test_any_document_is_an_agent_or_a_configuration_error(document: Any) -> None:
    assert is_read_or_refused(json.dumps(document))


@given(st.binary(max_size=40) | st.text(alphabet='{}[]",:0123456789eE+-.\\u slutrefansd\n', max_size=40))
def test_any_text_is_an_agent_or_a_configuration_error(text: str | bytes) -> None:
    assert is_read_or_refused(text)
