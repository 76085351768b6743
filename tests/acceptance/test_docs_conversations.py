"""The worked conversations in the documentation are what a model is really asked."""

from typing import Any

import pytest
from docs.generate import conversations
from docs.generate.conversations import Dialect


def test_the_conversations_on_the_page_are_those_of_today() -> None:
    assert conversations.PAGE.read_text() == conversations.page(), "run `make docs`"


@pytest.mark.parametrize(("dialect", "place"), [("chat", "content"), ("responses", "output")])
def test_the_result_stands_before_the_status_of_the_wait(dialect: Dialect, place: str) -> None:
    items: list[Any] = conversations.played(dialect)
    *_, result, status = items
    assert '"price_cents":1200' in result[place]
    assert status[place] == '{"status":"completed","completed_task_handles":["widget_price_1"]}'
