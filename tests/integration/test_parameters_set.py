"""Parameters that are set while a session lives."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
import redis.asyncio
from tests.integration.errand import begin

from errands_config import keys
from errands_config.errors import ConfigError, NotFound
from errands_orchestrator import reads
from errands_orchestrator.parameters import changed_parameters

PARAMETERS = [
    {"name": "city", "scope": "message", "required": False},
    {"name": "list", "scope": "message", "required": False},
    {"name": "fixed", "required": False},
    {"name": "key", "secret": True, "scope": "message"},
]


async def values(store: redis.asyncio.Redis, sid: str) -> Any:
    return json.loads(await reads.field(store, keys.session(sid), "parameters") or "{}")


async def test_a_value_that_is_set_joins_the_others_and_replaces_its_own(astore: redis.asyncio.Redis) -> None:
    sid = await begin(astore, parameters=PARAMETERS)
    await changed_parameters(astore, sid, {"city": "Lima", "list": []})
    await changed_parameters(astore, sid, {"city": {"name": None, "n": 12345678901234567890123}})
    assert await values(astore, sid) == {"city": {"name": None, "n": 12345678901234567890123}, "list": []}


async def test_of_many_that_set_at_once_nobody_is_lost(astore: redis.asyncio.Redis) -> None:
    names = [f"p{number}" for number in range(12)]
    sid = await begin(astore, parameters=[{"name": name, "scope": "message", "required": False} for name in names])
    await asyncio.gather(*(changed_parameters(astore, sid, {name: name}) for name in names))
    assert await values(astore, sid) == {name: name for name in names}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"fixed": 1}, 'is of scope "process": it is set when a session is started'),
        ({"key": "swordfish"}, "is secret"),
        ({"citi": 1}, 'did you mean "city"?'),
    ],
)
async def test_what_cannot_be_set_later_changes_nothing(
    given: dict[str, Any], says: str, astore: redis.asyncio.Redis
) -> None:
    sid = await begin(astore, parameters=PARAMETERS)
    with pytest.raises(ConfigError) as raised:
        await changed_parameters(astore, sid, {"city": "Lima", **given})
    assert says in str(raised.value)
    assert "swordfish" not in str(raised.value)
    assert await values(astore, sid) == {}


async def test_an_unknown_session_is_told(astore: redis.asyncio.Redis) -> None:
    with pytest.raises(NotFound):
        await changed_parameters(astore, "nobody", {"city": 1})
