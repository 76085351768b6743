"""One tool called by hand where Celery's broker is not the store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.acceptance.desk import a_store, a_worker
from tests.acceptance.person import Person

from errands_config import store
from errands_config.settings import Settings


def test_a_tool_is_called_through_a_broker_that_is_not_the_store(person: Person, tmp_path: Path) -> None:
    with a_store(tmp_path / "store") as settings, a_store(tmp_path / "broker") as broker:
        elsewhere = store.broker_url(broker)
        with a_worker(settings, tmp_path / "log", ERRANDS_BROKER_URL=elsewhere):
            user = person.with_store(settings).having(ERRANDS_BROKER_URL=elsewhere)

            called = user.types("tools", "call", "add", "--args", json.dumps({"a": 1, "b": 2}), "--json")
            looked = user.types("doctor", "--json")

            assert (called.code, called.json["result"]) == (0, "3")
            assert broker_finding(looked.json) == ("ok", f"the broker at {broker_socket(broker)} answers")
            assert lists_of(settings) == set()
            assert "_kombu.binding.default" in names_in(broker)


def broker_finding(findings: list[dict[str, str]]) -> tuple[str, str]:
    return next((one["level"], one["text"]) for one in findings if one["check"] == "broker")


def broker_socket(broker: Settings) -> str:
    return (broker.redis_url or "").removeprefix("unix://").removesuffix("?db=0")


def names_in(settings: Settings) -> set[str]:
    with store.plain(settings) as client:
        names: Any = client.keys()
        return set(names)


def lists_of(settings: Settings) -> set[str]:
    """What a broker would have left in the store."""
    return {name for name in names_in(settings) if not name.startswith("errands:")}
