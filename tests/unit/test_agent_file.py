"""Loading an agent file: what a good one becomes."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.agent_file_texts import DEFAULTS, SEED_WRAPPERS, SYSTEM_TOOLBOX, agent_of

from errands_config.agent import Agent, YieldOnTimeout, load_agent, parse_agent
from errands_config.agent_file.finding import key_path
from errands_config.agent_file.policy_config import RunAsync, decorators_of, innermost

SAMPLES = Path(__file__).parents[2] / "config" / "agents"
USUAL = ("get-tool-call-status", "list-running-tool-calls", "cancel-tool-call")


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.json")), ids=lambda path: path.stem)
def test_every_sample_agent_loads(path: Path) -> None:
    assert load_agent(path).slug in {path.stem, "my-agent"}


def test_the_first_example_of_the_seed_loads_unchanged() -> None:
    agent = load_agent(SAMPLES / "first-example.json")
    assert agent.execution_mode == "asynchronous"
    assert agent.async_yield_strategy == "yieldOnAnyProgress"
    assert agent.max_concurrency == 4
    assert agent.async_call_timeout_seconds == 900
    assert [rule.tool for rule in agent.tool_call_policy_config.rules] == ["build_project", "run_tests"]


def test_the_system_toolbox_of_the_seed_loads_with_its_four_capabilities() -> None:
    agent = agent_of(executionMode="asynchronous", builtinToolboxes=[SYSTEM_TOOLBOX])
    assert agent.builtin_toolboxes is not None
    assert agent.builtin_toolboxes[0].contents.name == "system"
    assert len(agent.builtin_toolboxes[0].contents.capabilities) == 4


def test_send_to_tool_call_is_not_offered_without_helpers() -> None:
    assert agent_of(executionMode="asynchronous", builtinToolboxes=[SYSTEM_TOOLBOX]).capabilities == USUAL


def test_a_slug_alone_makes_an_agent_with_the_documented_defaults() -> None:
    spelt_out = parse_agent(json.dumps(DEFAULTS | {"slug": "a"}), origin="test")
    assert spelt_out.model_dump() == agent_of().model_dump()


def test_values_that_are_only_left_out_by_null_are_the_defaults() -> None:
    agent = agent_of(modelUrl=None, modelName=None, apiKeyId=None, asyncCallTimeoutSeconds=None, builtinToolboxes=None)
    assert agent.model_dump() == agent_of().model_dump()


def test_the_envelope_may_be_left_out() -> None:
    bare = agent_of(announce="x")
    text = json.dumps({"tag": "OpenAIAgentDescription", "contents": {"slug": "a", "announce": "x"}})
    assert parse_agent(text, origin="test") == bare


@pytest.mark.parametrize("enveloped", [False, True])
def test_a_schema_hint_for_editors_changes_nothing(enveloped: bool) -> None:
    written = {"$schema": "agent.schema.json", "slug": "a"}
    document = {"$schema": "x", "tag": "OpenAIAgentDescription", "contents": written} if enveloped else written
    assert parse_agent(json.dumps(document), origin="test").digest == agent_of().digest


def test_texts_may_be_written_as_lines() -> None:
    agent = agent_of(systemPrompt=["one", "", "two"], announce=[])
    assert agent.system_prompt == "one\n\ntwo"
    assert agent.announce == ""


@pytest.mark.parametrize(
    ("written", "read"), [("KimiV1", "OpenAIv1"), ("MistralV1", "OpenAIv1"), ("Scripted", "Scripted")]
)
def test_flavors_that_speak_chat_are_read_as_the_same(written: str, read: str) -> None:
    assert agent_of(flavor=written).flavor == read


@pytest.mark.parametrize("mode", ["Synchronous", "Asynchronous"])
def test_the_older_spellings_of_the_execution_mode_are_read(mode: str) -> None:
    assert agent_of(executionMode=mode).execution_mode == mode.lower()


def test_a_yield_strategy_may_be_a_timeout() -> None:
    agent = agent_of(asyncYieldStrategy={"tag": "yieldOnTimeout", "milliseconds": 250})
    assert agent.async_yield_strategy == YieldOnTimeout(tag="yieldOnTimeout", milliseconds=250)


def test_decorate_without_decorators_is_what_stands_inside() -> None:
    inner = {"tag": "runAsync", "attachSeconds": 2, "queue": "slow"}
    nested = {"tag": "decorate", "decorators": [], "inner": {"tag": "decorate", "decorators": [], "inner": inner}}
    default = agent_of(toolCallPolicyConfig={"default": nested}).tool_call_policy_config.default
    assert innermost(default) == RunAsync.model_validate(inner)
    assert list(decorators_of(default)) == []


def test_nested_decorate_is_read_with_the_outer_decorators_first_each_at_its_place() -> None:
    labels = [{"tag": "label", "label": word} for word in "abc"]
    inner = {"tag": "decorate", "decorators": labels[2:], "inner": {"tag": "runAsync"}}
    middle = {"tag": "decorate", "decorators": [], "inner": inner}
    outer = {"tag": "decorate", "decorators": labels[:2], "inner": middle}
    default = agent_of(toolCallPolicyConfig={"default": outer}).tool_call_policy_config.default
    assert [(key_path(keys), getattr(one, "label", None)) for keys, one in decorators_of(default)] == [
        ("decorators[0]", "a"), ("decorators[1]", "b"), ("inner.inner.decorators[0]", "c"),
    ]  # fmt: skip
    assert innermost(default) == RunAsync(tag="runAsync")


def test_the_three_wrappers_of_the_seed_load_unchanged() -> None:
    wrappers = agent_of(toolCallPolicyConfig=SEED_WRAPPERS).tool_call_policy_config.wrappers
    assert [[decorator.tag for decorator in wrapper.decorators] for wrapper in wrappers] == [
        ["retries", "timeout"], ["before"], ["before"],
    ]  # fmt: skip


def test_a_limit_of_a_wrapper_may_go_unchecked_where_the_settings_are_not_at_hand() -> None:
    limited = {"wrappers": [{"match": {}, "decorators": [{"tag": "limit", "name": "gpu"}]}]}
    text = json.dumps({"slug": "a", "toolCallPolicyConfig": limited})
    assert parse_agent(text, origin="test", limit_names=None) == parse_agent(text, origin="test", limit_names={"gpu"})


@pytest.mark.parametrize("command", ["approve", "hooks/approve", "approve.sh", "hooks/a-b_c.2"])
def test_a_hook_is_named_with_or_without_its_folder(command: str) -> None:
    agent_of(toolCallPolicyConfig={"wrappers": [{"match": {}, "decorators": [before(command)]}]})


def before(command: str) -> dict[str, object]:
    return {"tag": "before", "hook": {"command": command}}


def test_an_asynchronous_agent_may_let_its_model_ask_its_user() -> None:
    toolbox = {"tag": "SystemToolbox", "contents": {"Capabilities": ["ask-user"]}}
    assert agent_of(executionMode="asynchronous", builtinToolboxes=[toolbox]).capabilities == ("ask-user",)


@pytest.mark.parametrize(
    ("mode", "toolboxes", "offered"),
    [
        ("asynchronous", None, USUAL),
        ("synchronous", None, ()),
        ("asynchronous", [], ()),
        ("asynchronous", [{"tag": "SystemToolbox", "contents": {"Capabilities": []}}], ()),
        ("asynchronous", [{"tag": "SystemToolbox", "contents": {"Capabilities": ["cancel-tool-call"]}}], USUAL[2:]),
        ("synchronous", [{"tag": "SystemToolbox", "contents": {"Capabilities": ["cancel-tool-call"] * 2}}], USUAL[2:]),
    ],
)
def test_capabilities_are_as_written_or_the_usual_ones(mode: str, toolboxes: object, offered: tuple[str, ...]) -> None:
    written = {} if toolboxes is None else {"builtinToolboxes": toolboxes}
    assert agent_of(executionMode=mode, **written).capabilities == offered


def test_an_agent_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        agent_of().slug = "b"


@pytest.mark.parametrize("text", [b'\xef\xbb\xbf{"slug": "a"}', '\ufeff{"slug": "a"}', ' {"slug"\n:"a"}\n'])
def test_a_byte_order_mark_and_blanks_do_not_matter(text: str | bytes) -> None:
    assert parse_agent(text, origin="test") == agent_of()


def test_the_key_of_an_agent_may_go_unchecked_where_no_keys_are_held() -> None:
    assert parse_agent('{"slug": "a", "apiKeyId": "k"}', origin="test", api_key_ids=None).api_key_id == "k"
    assert parse_agent('{"slug": "a", "apiKeyId": "k"}', origin="test", api_key_ids={"k"}).api_key_id == "k"


def test_an_agent_is_also_valid_as_a_part_of_another_model() -> None:
    assert Agent.model_validate(agent_of()) == agent_of()


def test_the_digest_is_the_one_of_the_canonical_text() -> None:
    agent = agent_of(tools=["b", "a"], announce="café")
    assert agent.canonical == '{"announce":"café","slug":"a","tools":["b","a"]}'
    assert agent.digest == "c07a8a6d3c9001ce9790f70a71b9b7f735bb6425eec89c1b49edfba25d497d2c"


def test_the_digest_tells_files_apart_that_mean_the_same() -> None:
    assert agent_of(maxConcurrency=4).digest != agent_of().digest


_WRITTEN = st.fixed_dictionaries(
    {"slug": st.from_regex(r"[A-Za-z0-9_-]{1,48}", fullmatch=True)},
    optional={
        "systemPrompt": st.text() | st.lists(st.text(), max_size=3),
        "maxConcurrency": st.integers(1, 10_000),
        "asyncCallTimeoutSeconds": st.floats(1, 1e6),
        "tools": st.lists(st.sampled_from(["*", "bash_*", "x"]), max_size=3),
        "executionMode": st.sampled_from(["synchronous", "Asynchronous"]),
        "registry": st.just({"handles": False}),
    },
)


@given(written=_WRITTEN, order=st.randoms(use_true_random=False), indent=st.sampled_from([None, 1, 4]))
def test_what_is_stored_is_read_again_as_the_same_agent(
    written: dict[str, object], order: random.Random, indent: int | None
) -> None:
    agent = parse_agent(json.dumps(written), origin="file")
    shuffled = dict(sorted(written.items(), key=lambda _: order.random()))
    again = parse_agent(json.dumps(shuffled, indent=indent, ensure_ascii=indent is None), origin="file")
    stored = parse_agent(agent.canonical, origin="store")
    assert agent == again == stored
    assert agent.digest == again.digest == stored.digest
