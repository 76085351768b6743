"""Parameters and bindings of an agent file: what is refused when it is loaded, and where."""

from __future__ import annotations

import json
from typing import Any

import pytest

from errands_config.agent import parse_agent
from errands_config.errors import ConfigError, NotSupportedYet

CITY = {"name": "city"}
KEY = {"name": "key", "secret": True}
LITERAL = {"tag": "Literal", "contents": 1}


def param(name: str) -> dict[str, str]:
    return {"tag": "Param", "contents": name}


def bind(value: object, **more: Any) -> dict[str, Any]:
    return {"arg": "x", "value": value, **more}


def load(parameters: list[Any], bindings: list[Any]) -> None:
    parse_agent(json.dumps({"slug": "a", "parameters": parameters, "bindings": bindings}), origin="a.json")


@pytest.mark.parametrize(
    ("parameters", "bindings", "path", "says"),
    [
        ([CITY], [bind(param("citty"))], "bindings[0].value.contents", '"citty" (did you mean "city"?); known: city'),
        ([], [bind(LITERAL), bind(param("city"))], "bindings[1].value.contents", '"city"; the file has none'),
        ([CITY, KEY, CITY], [], "parameters[2].name", 'another parameter is called "city"; rename one'),
        (
            [{**CITY, "default": {"tag": "ApiKey", "contents": "main"}}], [], "parameters[0].default",
            'workers hold no model keys; bind a secret of theirs instead: {"secret": NAME}',
        ),
        (
            [{**KEY, "default": {"tag": "Given", "contents": "v"}}], [], "parameters[0].default",
            "must not stand in the file",
        ),
        ([], [bind({"secret": "K"}, whenUnbound="expose")], "bindings[0].whenUnbound", "a secret is never the model's"),
        ([KEY], [bind(param("key"), whenUnbound="expose")], "bindings[0].whenUnbound", "a secret is never the model's"),
        ([], [bind(LITERAL, whenUnbound="expose")], "bindings[0].whenUnbound", "a Literal always has its value"),
        ([], [bind(LITERAL, tool="ask-user")], "bindings[0].tool", "ask-user is a capability"),
        ([], [bind({"secret": "a b"})], "bindings[0].value.secret", "a name of 1 to 64 letters, digits, _, . or -"),
        ([{"name": "a=b"}], [], "parameters[0].name", "a name of 1 to 64 letters, digits, _, . or -"),
        ([], [bind({"tag": "Parm", "contents": "x"})], "bindings[0].value.tag", 'unknown tag "Parm"'),
        ([], [bind(LITERAL, whenUnbound="ask")], "bindings[0].whenUnbound", 'one of "fail", "omit", "expose"'),
        ([{**CITY, "scope": "turn"}], [], "parameters[0].scope", 'one of "process", "session", "message"'),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_place(parameters: list[Any], bindings: list[Any], path: str, says: str) -> None:
    with pytest.raises(ConfigError) as raised:
        load(parameters, bindings)
    assert not isinstance(raised.value, NotSupportedYet)
    assert raised.value.path == path
    assert says in str(raised.value)


def test_a_refused_default_is_not_repeated() -> None:
    with pytest.raises(ConfigError) as raised:
        load([{**KEY, "default": {"tag": "Given", "contents": "swordfish"}}], [])
    assert "swordfish" not in str(raised.value)


@pytest.mark.parametrize("when_unbound", ["fail", "omit"])
@pytest.mark.parametrize("value", [LITERAL, param("city"), param("key"), {"secret": "SOME.KEY-1"}])
def test_every_value_may_fail_or_be_left_out_without_one(value: object, when_unbound: str) -> None:
    load([CITY, KEY], [bind(value, whenUnbound=when_unbound, tool="bash_*")])


@pytest.mark.parametrize("tag", ["EnvVar", "FileSystem", "Command"])
@pytest.mark.parametrize("secret", [True, False])
def test_a_default_may_come_from_outside_the_file(tag: str, secret: bool) -> None:
    load([{"name": "p", "secret": secret, "required": False, "default": {"tag": tag, "contents": "x"}}], [])
