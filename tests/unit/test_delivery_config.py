"""The part `delivery` of an agent file: what is read, and what is refused with the path to it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.agent_file_texts import agent_of

from errands_config.errors import ConfigError


def delivery(**keys: Any) -> Any:
    return agent_of(delivery=keys).delivery


def test_a_heading_may_be_a_list_of_lines_and_have_braces_of_its_own() -> None:
    assert delivery(templates={"newest": ["{{x}}", "{name}"]}).templates.newest == "{{x}}\n{name}"


@pytest.mark.parametrize(
    ("templates", "path", "said"),
    [
        ({"older": "x"}, "delivery.templates.older", "unknown key; known here: newest, buried"),
        ({"newst": "x"}, "delivery.templates.newst", 'did you mean "newest"?'),
        ({"newest": "{nmae}"}, "delivery.templates.newest", 'unknown word {nmae} (did you mean "name"?)'),
        ({"newest": "{}"}, "delivery.templates.newest", "unknown word {}"),
        ({"newest": "{id.__class__}"}, "delivery.templates.newest", "unknown word {id.__class__}"),
        ({"newest": "{id[0]}"}, "delivery.templates.newest", "unknown word {id[0]}"),
        ({"newest": "{id!r}"}, "delivery.templates.newest", "{id} takes no format"),
        ({"buried": "{id:>9}"}, "delivery.templates.buried", "{id} takes no format"),
        ({"buried": "a { b"}, "delivery.templates.buried", "a single { or }"),
        ({"buried": " \n"}, "delivery.templates.buried", "must not be empty"),
        ({"buried": 7}, "delivery.templates.buried", "a string is expected"),
    ],
)
def test_a_heading_that_cannot_be_filled_in_is_a_loading_error(templates: Any, path: str, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        delivery(templates=templates)
    assert raised.value.path == path
    assert said in str(raised.value)


@pytest.mark.parametrize("key", ["maxItems", "maxBytes", "compactAfterTurns"])
def test_a_bound_is_at_least_one(key: str) -> None:
    with pytest.raises(ConfigError) as raised:
        delivery(**{key: 0})
    assert raised.value.path == f"delivery.{key}"
