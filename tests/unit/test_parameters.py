"""The values of a new session's parameters: given, by default, or missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands_config.agent import Agent, parse_agent
from errands_config.errors import ConfigError
from errands_config.parameter_sources import Unread, read_source
from errands_orchestrator.cli.assignments import assigned
from errands_orchestrator.cli.exit_codes import UsageError
from errands_orchestrator.parameters import parameter_values

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


def agent(*parameters: dict[str, Any]) -> Agent:
    return parse_agent(json.dumps({"slug": "a", "parameters": list(parameters)}), origin="test")


def parameter(tag: str = "", contents: object = None, **more: Any) -> dict[str, Any]:
    default = {"default": {"tag": tag, "contents": contents}} if tag else {}
    return {"name": "city", **default, **more}


def values(made: Agent, folder: Path | None, **given: Any) -> Any:
    return json.loads(parameter_values(made, folder, given))


def refusal(made: Agent, folder: Path | None = None, **given: Any) -> str:
    with pytest.raises(ConfigError) as raised:
        parameter_values(made, folder, given)
    return str(raised.value)


# ---- where values come from


def test_what_is_given_comes_before_the_default(tmp_path: Path) -> None:
    made = agent(parameter("Given", {"any": ["value"]}))
    assert values(made, tmp_path) == {"city": {"any": ["value"]}}
    assert values(made, tmp_path, city="Lima") == {"city": "Lima"}
    assert values(made, tmp_path, city=None) == {"city": None}


def test_a_variable_a_file_and_a_command_give_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITY", "Lima")
    (tmp_path / "city.txt").write_text("Lima\r\n")
    assert values(agent(parameter("EnvVar", "CITY")), tmp_path) == {"city": "Lima"}
    assert values(agent(parameter("FileSystem", "city.txt")), tmp_path) == {"city": "Lima"}
    assert values(agent(parameter("Command", "cat city.txt")), tmp_path) == {"city": "Lima"}


def test_a_command_is_not_a_shells(tmp_path: Path) -> None:
    made = agent(parameter("Command", "printf '%s|' $HOME 'a b' > out"))
    assert values(made, tmp_path) == {"city": "$HOME|a b|>|out|"}
    assert list(tmp_path.iterdir()) == []


def test_an_agent_without_parameters_has_no_values(tmp_path: Path) -> None:
    assert parameter_values(agent(), tmp_path, {}) == ""


def test_a_secret_parameter_is_not_among_the_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "swordfish")
    assert parameter_values(agent(parameter("EnvVar", "KEY", secret=True)), tmp_path, {}) == "{}"


def test_what_is_not_required_may_have_no_value(tmp_path: Path) -> None:
    assert values(agent(parameter(required=False)), tmp_path) == {}


def test_of_an_agent_from_the_store_only_given_defaults_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITY", "Lima")
    assert values(agent(parameter("Given", "Lima")), None) == {"city": "Lima"}
    for tag in ("EnvVar", "FileSystem", "Command"):
        assert "where the agent file itself is given" in refusal(agent(parameter(tag, "CITY")))


# ---- what is refused


def test_a_required_parameter_without_a_value_names_the_option(tmp_path: Path) -> None:
    said = refusal(agent(parameter(), {"name": "key", "required": False}, {"name": "n"}), tmp_path)
    assert said.splitlines() == [
        "parameters: city has no value (it has no default): --set city=VALUE",
        "n has no value (it has no default): --set n=VALUE",
    ]


def test_a_default_that_cannot_be_read_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CITY", raising=False)
    assert "the variable CITY is not set" in refusal(agent(parameter("EnvVar", "CITY")), tmp_path)
    assert "no file city.txt; looked at" in refusal(agent(parameter("FileSystem", "city.txt")), tmp_path)
    assert "false ended with exit code 1" in refusal(agent(parameter("Command", "false --password x")), tmp_path)
    assert "cannot be run" in refusal(agent(parameter("Command", "no-such-program x")), tmp_path)


def test_an_unknown_name_is_told_with_the_one_that_was_meant(tmp_path: Path) -> None:
    made = agent(parameter(required=False))
    assert refusal(made, tmp_path, citty=1) == (
        "--set: agent a has no parameter 'citty' (did you mean \"city\"?); known: city"
    )
    assert "it has none that could be set" in refusal(agent(), tmp_path, citty=1)


def test_a_secret_parameter_cannot_be_set_and_says_whence_it_comes(tmp_path: Path) -> None:
    said = refusal(agent(parameter(secret=True)), tmp_path, city="swordfish")
    assert "workers take it from the file of ERRANDS_SECRETS_FILE" in said
    assert "swordfish" not in said


@pytest.mark.parametrize("value", [float("nan"), "half \ud800", {"a": {1, 2}}, [b"x"]])
def test_a_value_that_json_cannot_say_is_refused(value: object, tmp_path: Path) -> None:
    assert "the value of city cannot be written as JSON" in refusal(agent(parameter()), tmp_path, city=value)


# ---- sources


@pytest.mark.parametrize("content", [b"\xff\xfe", b"a\0b", b"x" * 70_000])
def test_a_source_with_what_is_no_value_tells_nothing_of_it(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "value").write_bytes(content)
    [one] = agent(parameter("FileSystem", "value")).parameters
    unread = read_source(one.default, tmp_path)  # pyright: ignore[reportArgumentType]
    assert isinstance(unread, Unread)
    assert "xxxx" not in unread.why


def test_a_command_that_does_not_end_is_killed_with_what_it_began(tmp_path: Path) -> None:
    (tmp_path / "slow").write_text("#!/bin/sh\nsleep 600 &\nwait\n")
    (tmp_path / "slow").chmod(0o755)
    [one] = agent(parameter("Command", "./slow --token swordfish")).parameters
    unread = read_source(one.default, tmp_path, seconds=0.2)  # pyright: ignore[reportArgumentType]
    assert unread == Unread("./slow did not end within 0.2 s")


def test_what_a_command_leaves_behind_does_not_keep_its_value_back(tmp_path: Path) -> None:
    (tmp_path / "detached").write_text("#!/bin/sh\nsleep 600 >/dev/null 2>&1 &\necho value\n")
    (tmp_path / "detached").chmod(0o755)
    [one] = agent(parameter("Command", "./detached")).parameters
    assert read_source(one.default, tmp_path) == "value"  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(("command", "why"), [("'", "the command cannot be read"), ("  ", "the command is empty")])
def test_a_command_that_is_none_is_told(command: str, why: str, tmp_path: Path) -> None:
    assert why in refusal(agent(parameter("Command", command)), tmp_path)


# ---- on a command line


@given(st.dictionaries(st.from_regex(r"\A[A-Za-z0-9_.-]{1,8}\Z"), JSON, max_size=4))
def test_a_value_that_was_written_as_json_is_read_as_json(given_values: dict[str, Any]) -> None:
    words = [f"{name}={json.dumps(value)}" for name, value in given_values.items()]
    assert assigned(words) == given_values


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("a=text", "text"),
        ("a=", ""),
        ("a=x=y", "x=y"),
        ("a=007", "007"),
        ("a=NaN", "NaN"),
        ("a=1e999", "1e999"),
        ("a=12345678901234567890123", 12345678901234567890123),
        ('a="7"', "7"),
        ("a={not json}", "{not json}"),
        ("a=" + "[" * 5000, "[" * 5000),
    ],
)
def test_a_value_that_is_no_json_is_text(word: str, value: object) -> None:
    assert assigned([word]) == {"a": value}


@pytest.mark.parametrize("words", [["a"], ["=x"], [""], ["a=swordfish", "a=2"]])
def test_a_word_that_is_no_assignment_is_refused_without_its_value(words: list[str]) -> None:
    with pytest.raises(UsageError) as raised:
        assigned(words)
    assert "swordfish" not in str(raised.value)


def test_nothing_assigned_is_nothing() -> None:
    assert assigned(None) == {}
