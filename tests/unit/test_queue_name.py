"""A queue's list stands in the broker beside the broker's own keys, so not every name will do."""

from __future__ import annotations

import json

import pytest

from errands_config.agent import parse_agent
from errands_config.errors import ConfigError
from errands_config.queue_name import fault_of_queue


@pytest.mark.parametrize("name", ["default", "gpu.big-2", "a" * 64, "Slow_1", "my_unacked"])
def test_a_plain_name_will_do(name: str) -> None:
    assert fault_of_queue(name) == ""


@pytest.mark.parametrize(
    "name",
    ["unacked", "unacked_index", "_kombu.binding.default", "celery.pidbox", "celeryev.1", "errands"],
)
def test_a_name_that_the_broker_uses_itself_is_refused(name: str) -> None:
    assert "the broker's own" in fault_of_queue(name)


@pytest.mark.parametrize("name", ["", "a" * 65, "a b", "a:b", "ä", "a\n"])
def test_what_is_no_name_is_refused(name: str) -> None:
    assert "1 to 64" in fault_of_queue(name)


def test_an_agent_file_that_names_such_a_queue_is_refused_with_its_place() -> None:
    rule = {"tool": "t", "disposition": {"tag": "runAsync", "queue": "unacked"}}
    text = json.dumps({"slug": "a", "toolCallPolicyConfig": {"rules": [rule]}})

    with pytest.raises(ConfigError, match="the broker's own") as refused:
        parse_agent(text, origin="agent.json")

    assert refused.value.path == "toolCallPolicyConfig.rules[0].disposition.queue"
