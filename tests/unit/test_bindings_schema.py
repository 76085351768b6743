"""The schemas that a model sees: without the arguments that are bound, and otherwise as they were."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands_config.agent import Agent, parse_agent
from errands_config.bound_arguments import arguments_of, without_arguments
from errands_config.wire import ToolOffer
from errands_orchestrator.arguments import read_arguments
from errands_orchestrator.brief import Toolset
from errands_orchestrator.catalogue import without_bound
from errands_orchestrator.definitions import StoredAgent, definitions
from errands_workers.bindings import Given, merged

NAMES = ("a", "b", "c", "d")
VALUES: Mapping[str, st.SearchStrategy[Any]] = {
    "string": st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
    "integer": st.integers(-9, 9),
    "boolean": st.booleans(),
}
SCHEMAS = st.fixed_dictionaries(
    {
        "type": st.just("object"),
        "properties": st.dictionaries(
            st.sampled_from(NAMES), st.sampled_from(list(VALUES)).map(lambda kind: {"type": kind})
        ),
    },
    optional={"additionalProperties": st.booleans(), "description": st.text(max_size=4)},
)


@st.composite
def requiring(draw: st.DrawFn) -> dict[str, Any]:
    """A schema that may require some of its arguments."""
    schema: dict[str, Any] = draw(SCHEMAS)
    names = list(schema["properties"])
    return schema | {"required": draw(st.lists(st.sampled_from(names), unique=True)) if names else []}


def arguments_for(schema: Mapping[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Arguments that the schema may take or refuse: a wrong type here, a missing one there."""
    some = st.one_of(*VALUES.values())
    return st.dictionaries(st.sampled_from([*schema["properties"], "e"]), some, max_size=4)


@dataclass(frozen=True)
class Sent:
    """A tool's schema, the arguments of it that are bound, and what somebody sends."""

    schema: dict[str, Any]
    bound: set[str]
    arguments: dict[str, Any]

    @property
    def pruned(self) -> Any:
        return json.loads(without_arguments(json.dumps(self.schema), self.bound))


@st.composite
def sent_arguments(draw: st.DrawFn) -> Sent:
    schema = draw(requiring())
    return Sent(schema, draw(st.sets(st.sampled_from(NAMES))), draw(arguments_for(schema)))


@given(sent_arguments())
def test_what_the_tool_takes_with_bound_arguments_the_model_may_send_without_them(sent: Sent) -> None:
    if jsonschema_rs.is_valid(sent.schema, sent.arguments):
        of_model = {name: value for name, value in sent.arguments.items() if name not in sent.bound}
        assert jsonschema_rs.is_valid(sent.pruned, of_model)


@given(sent_arguments(), st.data())
def test_what_the_model_may_send_the_tool_takes_once_the_bound_arguments_are_in(
    sent: Sent, data: st.DataObject
) -> None:
    if jsonschema_rs.is_valid(sent.pruned, sent.arguments):
        kinds = {name: one["type"] for name, one in sent.schema["properties"].items() if name in sent.bound}
        values = {name: data.draw(VALUES[kind]) for name, kind in kinds.items()}
        whole = merged(json.dumps(sent.arguments), Given(values=values))
        assert jsonschema_rs.is_valid(sent.schema, json.loads(whole))


@given(requiring(), st.sets(st.sampled_from([*NAMES, "e"])))
def test_nothing_but_the_bound_arguments_leaves_a_schema(schema: dict[str, Any], bound: set[str]) -> None:
    text = json.dumps(schema)
    pruned = without_arguments(text, bound)
    assert arguments_of(pruned) == arguments_of(text) - bound
    assert json.loads(pruned)["required"] == [name for name in schema["required"] if name not in bound]
    rest = {"properties", "required"}
    assert {k: v for k, v in json.loads(pruned).items() if k not in rest} == {
        k: v for k, v in schema.items() if k not in rest
    }
    assert without_arguments(pruned, bound) == pruned
    if not arguments_of(text) & bound:
        assert pruned == text


def test_references_and_all_else_of_a_schema_stay_as_they_were() -> None:
    schema = {
        "$defs": {"P": {"type": "object", "properties": {"token": {"type": "string"}}, "required": ["token"]}},
        "additionalProperties": False,
        "properties": {"p": {"$ref": "#/$defs/P"}, "token": {"type": "string"}},
        "required": ["token", "p"],
        "type": "object",
    }
    pruned = json.loads(without_arguments(json.dumps(schema), {"token"}))
    assert pruned == {**schema, "properties": {"p": {"$ref": "#/$defs/P"}}, "required": ["p"]}


@pytest.mark.parametrize("schema", ["{}", '{"type":"object"}', '{"properties":true}', "true"])
def test_a_schema_without_properties_keeps_its_bytes(schema: str) -> None:
    assert without_arguments(schema, {"token"}) == schema
    assert arguments_of(schema) == frozenset()


# ---- as an agent binds them


SCHEMA = json.dumps({
    "type": "object",
    "properties": {"text": {"type": "string"}, "token": {"type": "string"}, "city": {"type": "string"}},
    "required": ["text", "token", "city"],
    "additionalProperties": False,
})  # fmt: skip


def offer(name: str, parameters: str = SCHEMA) -> ToolOffer:
    return ToolOffer(name=name, description="Does it.", parameters=parameters, digest=f"digest of {name}", kind="bash")


def agent(*bindings: dict[str, Any], **more: Any) -> Agent:
    parameters = [{"name": "city", "required": False}]
    written = {"slug": "a", "parameters": parameters, "bindings": list(bindings), **more}
    return parse_agent(json.dumps(written), origin="test")


def city(when_unbound: str) -> dict[str, Any]:
    return {"arg": "city", "value": {"tag": "Param", "contents": "city"}, "whenUnbound": when_unbound}


TOKEN = {"tool": "bash_*", "arg": "token", "value": {"secret": "KEY"}}


def listed(made: Agent, *offers: ToolOffer, parameters: str = "") -> dict[str, list[str]]:
    """The arguments that the model sees, by tool."""
    tools = without_bound(made, Toolset(offers), parameters)
    return {one.name: sorted(json.loads(one.parameters)["properties"]) for one in tools.offers}


def test_a_bound_argument_leaves_the_tools_that_its_glob_names() -> None:
    assert listed(agent(TOKEN), offer("bash_x"), offer("y")) == {
        "bash_x": ["city", "text"],
        "y": ["city", "text", "token"],
    }


@pytest.mark.parametrize("when_unbound", ["fail", "omit"])
@pytest.mark.parametrize("parameters", ["", "{}", '{"city":"Lima"}'])
def test_a_bound_argument_leaves_the_schema_whether_it_has_a_value_or_not(when_unbound: str, parameters: str) -> None:
    assert listed(agent(city(when_unbound)), offer("x"), parameters=parameters) == {"x": ["text", "token"]}


@pytest.mark.parametrize(
    ("parameters", "seen"), [("{}", ["city", "text", "token"]), ('{"city":null}', ["text", "token"])]
)
def test_an_exposed_argument_is_the_models_only_while_it_has_no_value(parameters: str, seen: list[str]) -> None:
    assert listed(agent(city("expose")), offer("x"), parameters=parameters) == {"x": seen}


def test_of_two_bindings_for_an_argument_the_first_decides() -> None:
    literal = {"arg": "city", "value": {"tag": "Literal", "contents": "Lima"}}
    assert listed(agent(literal, city("expose")), offer("x")) == {"x": ["text", "token"]}
    assert listed(agent(city("expose"), literal), offer("x")) == {"x": ["city", "text", "token"]}


def test_a_tool_that_does_not_have_the_argument_is_listed_as_it_is() -> None:
    plain = offer("x", '{"type": "object", "properties": {"n": {"type": "integer"}}}')
    assert without_bound(agent(TOKEN, city("fail")), Toolset((plain,))).offers == (plain,)


def test_a_session_keeps_its_tools_without_what_is_bound_and_its_values() -> None:
    made = agent(TOKEN, city("fail"))
    stored = StoredAgent(file=made.canonical)
    kept = definitions(stored, Toolset((offer("bash_x"),)), '{"city":"Lima"}')
    again = definitions(stored, Toolset((offer("bash_x"),)), '{"city":"Lima"}')
    assert kept == again
    assert kept.parameters == '{"city":"Lima"}'
    assert "token" not in kept.toolset
    assert "city" not in kept.toolset
    assert "Lima" not in kept.toolset + kept.agent


def test_a_model_that_sends_a_bound_argument_is_told_what_the_schema_is() -> None:
    [tool] = without_bound(agent(TOKEN), Toolset((offer("bash_x"),))).offers
    assert not read_arguments('{"text":"t","city":"c"}', tool.parameters).fault
    assert "token" in read_arguments('{"text":"t","city":"c","token":"mine"}', tool.parameters).fault
