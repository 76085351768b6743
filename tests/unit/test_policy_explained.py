"""Why a call runs as it does: which wrapper applies, and which part of a predicate kept another one away."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from pydantic import JsonValue, TypeAdapter
from tests.unit.agent_file_texts import SEED_WRAPPERS, agent_of
from tests.unit.naive_predicate import ARGUMENTS, PREDICATES, naive_holds

from errands_config.agent_file.finding import key_path
from errands_config.agent_notes import notes_on
from errands_config.policy_explained import Explanation, explained
from errands_config.predicate import Predicate
from errands_config.predicate_reasons import what_decided

PREDICATE: TypeAdapter[Predicate] = TypeAdapter(Predicate)
PRODUCTION = SEED_WRAPPERS["wrappers"][2]["match"]["args"]


def decided(written: dict[str, Any], arguments: JsonValue) -> list[tuple[str, str]]:
    return [(key_path(keys), text) for keys, text in what_decided(PREDICATE.validate_python(written), arguments, ())]


@pytest.mark.parametrize(
    ("written", "arguments", "reasons"),
    [
        ({"path": "env", "equals": "production"}, {}, [("", "env is missing")]),
        ({"path": "env", "equals": "production"}, {"env": "x"}, [("", 'env is "x", not "production"')]),
        ({"path": "a.0", "equals": 1}, {"a": [True]}, [("", "a.0 is true, not 1")]),
        ({"path": "command", "glob": "rm *"}, {"command": "ls"}, [("", 'command is "ls", which is not like "rm *"')]),
        ({"path": "command", "glob": "rm *"}, {"command": 7}, [("", 'command is 7, which is not like "rm *"')]),
        ({"path": "a", "exists": False}, {"a": None}, [("", "a is there")]),
        ({"path": "a", "exists": True}, {}, [("", "a is missing")]),
        ({"path": "", "equals": {}}, None, [("", "the whole value is null, not {}")]),
        (PRODUCTION, {"env": "production", "dry_run": True}, [("all[1].not", "dry_run is true")]),
        (PRODUCTION, {"dry_run": True}, [("all[0]", "env is missing"), ("all[1].not", "dry_run is true")]),
        (
            {"any": [{"path": "a", "exists": True}, {"path": "b", "glob": "x"}]},
            {},
            [("any[0]", "a is missing"), ("any[1]", "b is missing")],
        ),
        (
            {"not": {"any": [{"path": "a", "exists": True}, {"path": "b", "glob": "x*"}]}},
            {"b": "xy"},
            [("not.any[1]", 'b is "xy", which is like "x*"')],
        ),
        ({"any": []}, {}, [("", '"any" of nothing never holds')]),
        ({"not": {"all": []}}, {}, [("not", '"all" of nothing always holds')]),
        ({"path": "a", "equals": "x"}, {"a": "y" * 500}, [("", f'a is "{"y" * 56}..., not "x"')]),
    ],
)
def test_the_parts_that_decided_are_named_with_their_places(
    written: dict[str, Any], arguments: JsonValue, reasons: list[tuple[str, str]]
) -> None:
    assert decided(written, arguments) == reasons


@given(PREDICATES, ARGUMENTS)
def test_every_predicate_has_a_part_that_decided_it(written: dict[str, Any], arguments: JsonValue) -> None:
    """And that part, alone, holds exactly when an even number of `not` stand around it in one that holds."""
    for keys, _ in what_decided(PREDICATE.validate_python(written), arguments, ()):
        part: Any = written
        for key in keys:
            part = part[key]
        turned = keys.count("not") % 2 == 1
        assert naive_holds(part, arguments) == (naive_holds(written, arguments) is not turned)
    assert decided(written, arguments)


def explanation_of(tool: str, arguments: JsonValue, /, mode: str = "asynchronous", **config: Any) -> Explanation:
    return explained(agent_of(executionMode=mode, toolCallPolicyConfig=config), tool, arguments)


def test_the_wrappers_of_the_seed_are_explained() -> None:
    explanation = explanation_of("bash_deploy", {"env": "production"}, **SEED_WRAPPERS)

    assert explanation.rule.path == "toolCallPolicyConfig.default"
    assert [(one.path, [decorator.tag for decorator in one.decorators]) for one in explanation.wrappers] == [
        ("toolCallPolicyConfig.wrappers[2]", ["before"])
    ]
    assert explanation.others == (
        ("toolCallPolicyConfig.wrappers[0].match.tool", '"bash_deploy" is not like "http_*"'),
        ("toolCallPolicyConfig.wrappers[1].match.args", "command is missing"),
    )
    assert explanation.notes == ()


def test_the_rule_that_names_the_tool_first_is_told_and_that_others_stand_behind_it() -> None:
    rules = [{"tool": tool, "disposition": {"tag": tag}} for tool, tag in (("u", "runSync"), ("t", "runAsync"))]
    explanation = explanation_of("t", {}, rules=[*rules, {"tool": "t", "disposition": {"tag": "runSync"}}])

    assert (explanation.rule.path, explanation.disposition.tag) == ("toolCallPolicyConfig.rules[1]", "runAsync")
    assert explanation.others == (("toolCallPolicyConfig.rules[2]", "rules[1] names this tool first"),)


def test_the_decorators_of_a_disposition_are_told_with_its_rule() -> None:
    inner = {"tag": "decorate", "decorators": [{"tag": "timeout", "seconds": 1}], "inner": {"tag": "runAsync"}}
    outer = {"tag": "decorate", "decorators": [{"tag": "label", "label": "x"}], "inner": inner}
    explanation = explanation_of("t", {}, default=outer)

    assert [one.tag for one in explanation.rule.decorators] == ["label", "timeout"]
    assert explanation.disposition.tag == "runAsync"


@pytest.mark.parametrize("disposition", [{"tag": "runAsync"}, {"tag": "defer", "reason": "r"}])
def test_what_does_not_act_in_synchronous_mode_is_noted(disposition: dict[str, Any]) -> None:
    tag = disposition["tag"]
    [note] = explanation_of("t", {}, "synchronous", default=disposition).notes
    assert note == f'"{tag}" acts like "runSync", because "executionMode" is "synchronous"'
    assert explanation_of("t", {}, default=disposition).notes == ()


DEFER = {"tag": "defer", "reason": "r"}
DEFERRING = {
    "default": {"tag": "decorate", "decorators": [], "inner": DEFER},
    "rules": [{"tool": "a", "disposition": {"tag": "runAsync"}}, {"tool": "b", "disposition": DEFER}],
}


def test_every_defer_of_a_synchronous_agent_is_noted_at_its_place() -> None:
    notes = list(notes_on(agent_of(toolCallPolicyConfig=DEFERRING)))
    assert [note.path for note in notes] == [
        "toolCallPolicyConfig.default", "toolCallPolicyConfig.rules[1].disposition",
    ]  # fmt: skip
    assert 'write "executionMode": "asynchronous"' in notes[0].text


def test_nothing_is_noted_of_an_asynchronous_agent() -> None:
    assert list(notes_on(agent_of(executionMode="asynchronous", toolCallPolicyConfig=DEFERRING))) == []
