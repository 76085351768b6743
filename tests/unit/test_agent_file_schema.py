"""The JSON schema of the agent file agrees with how files are read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from tests.unit.agent_file_texts import DEFAULTS, SEED_WRAPPERS, SYSTEM_TOOLBOX, WHOLE, mutated

from errands_config.agent import parse_agent
from errands_config.agent_schema import agent_schema
from errands_config.errors import ConfigError, NotSupportedYet

SCHEMA = jsonschema_rs.Draft202012Validator(json.loads(agent_schema()))
SAMPLES = Path(__file__).parents[2] / "config" / "agents"


def test_the_schema_is_one_of_draft_2020_12() -> None:
    schema = json.loads(agent_schema())
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema_rs.meta.validate(schema)


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.json")), ids=lambda path: path.stem)
def test_the_sample_agents_fit_the_schema(path: Path) -> None:
    assert SCHEMA.is_valid(json.loads(path.read_text()))


@pytest.mark.parametrize(
    "document",
    [
        WHOLE,
        DEFAULTS,
        {"$schema": "agent.schema.json", "slug": "a"},
        {"tag": "OpenAIAgentDescription", "contents": WHOLE},
        {"slug": "a", "toolCallPolicyConfig": SEED_WRAPPERS, "builtinToolboxes": [SYSTEM_TOOLBOX]},
        {"slug": "a", "flavor": "KimiV1", "executionMode": "Asynchronous", "systemPrompt": ["a", "b"]},
    ],
)
def test_good_files_fit_the_schema(document: Any) -> None:
    assert SCHEMA.is_valid(document)


@pytest.mark.parametrize(
    "document",
    [
        {},
        [],
        {"slug": "a", "maxConcurency": 1},
        {"slug": "a", "maxConcurrency": 0},
        {"slug": "a", "asyncYieldStrategy": "yieldOnAny"},
        {"slug": "a", "builtinToolboxes": [{"tag": "SystemToolbox", "contents": {"Capabilities": ["cancel"]}}]},
        {"slug": "a", "toolCallPolicyConfig": {"wrappers": [{"match": {"args": {"path": "x", "equal": 1}}}]}},
        {"tag": "Other", "contents": {"slug": "a"}},
    ],
)
def test_bad_files_do_not_fit_the_schema(document: Any) -> None:
    assert not SCHEMA.is_valid(document)


@given(mutated())
def test_whatever_is_read_fits_the_schema(document: Any) -> None:
    try:
        parse_agent(json.dumps(document), origin="test", api_key_ids=None)
    except NotSupportedYet:
        assert SCHEMA.is_valid(document)
    except ConfigError:
        return
    assert SCHEMA.is_valid(document)


def test_an_editor_is_shown_what_a_key_means() -> None:
    agent = json.loads(agent_schema())["$defs"]["Agent"]["properties"]
    assert agent["slug"]["description"] == "Names the agent; unique where it runs."
