"""What a call is given on the worker: looked up in the session, its agent file and the worker's secrets."""

from __future__ import annotations

import json
from typing import Any

import pytest
import redis
import redis.asyncio
from tests.integration.errand import make_agent

from errands_config import keys
from errands_config.errors import ToolError
from errands_config.parameter_sources import Unread
from errands_config.policy import compile_policy
from errands_config.wire import Claimed
from errands_orchestrator import sessions
from errands_orchestrator.brief import Toolset
from errands_orchestrator.definitions import StoredAgent, definitions
from errands_workers.bindings import Given, Values
from errands_workers.secrets import Secrets

SCHEMA = json.dumps({"type": "object", "properties": {"x": {}, "y": {}}})
CITY = {"name": "city", "required": False}
KEY = {"name": "key", "secret": True, "required": False}
SECRETS = Secrets({"NAMED": "swordfish"}, {("runner", "key"): "by default", ("other", "key"): "somebody else's"})


def bind(arg: str, value: object, **more: Any) -> dict[str, Any]:
    return {"arg": arg, "value": value, **more}


def param(name: str) -> dict[str, str]:
    return {"tag": "Param", "contents": name}


async def call_of(
    store: redis.asyncio.Redis, *bindings: dict[str, Any], parameters: str = "", tool: str = "work"
) -> Claimed:
    """A call of a new session whose agent has these bindings."""
    agent = make_agent(parameters=[CITY, KEY], bindings=list(bindings))
    made_of = definitions(StoredAgent(file=agent.canonical), Toolset(), parameters)
    sid = await sessions.start(store, agent.slug, made_of, "go")
    return Claimed(
        call="c", session=sid, conversation=sid, agent=agent.slug, tool=tool, provider_id="p", arguments="{}",
        policy=compile_policy(agent).resolve(tool, {}), attempt=1, token="t", deadline_ms=1000,
    )  # fmt: skip


def given(store: redis.Redis, claimed: Claimed, secrets: Secrets = SECRETS, schema: str = SCHEMA) -> Given:
    return Values(store, secrets).of(claimed, schema)


def refusal(store: redis.Redis, claimed: Claimed, secrets: Secrets = SECRETS) -> str:
    with pytest.raises(ToolError) as raised:
        given(store, claimed, secrets)
    return str(raised.value)


async def test_each_kind_of_value_is_found_where_it_is(store: redis.Redis, astore: redis.asyncio.Redis) -> None:
    literal = await call_of(astore, bind("x", {"tag": "Literal", "contents": {"a": [None]}}))
    set_one = await call_of(astore, bind("x", param("city")), parameters='{"city":["Lima"]}')
    named = await call_of(astore, bind("x", {"secret": "NAMED"}))
    by_default = await call_of(astore, bind("y", param("key")))

    assert given(store, literal) == Given({"x": {"a": [None]}})
    assert given(store, set_one) == Given({"x": ["Lima"]})
    assert given(store, named) == Given({"x": "swordfish"}, {"NAMED": "swordfish"})
    assert given(store, by_default) == Given({"y": "by default"}, {"key": "by default"})


async def test_an_argument_that_the_tool_does_not_take_is_not_bound(
    store: redis.Redis, astore: redis.asyncio.Redis
) -> None:
    claimed = await call_of(astore, bind("z", {"secret": "NO_SUCH"}), bind("x", {"secret": "NAMED"}))
    assert given(store, claimed).values == {"x": "swordfish"}
    assert given(store, claimed, schema='{"type":"object"}') == Given()


async def test_a_call_of_another_tool_is_given_nothing(store: redis.Redis, astore: redis.asyncio.Redis) -> None:
    claimed = await call_of(astore, bind("x", {"secret": "NAMED"}, tool="other_*"))
    assert given(store, claimed) == Given()


async def test_what_has_no_value_fails_is_left_out_or_stays_the_models(
    store: redis.Redis, astore: redis.asyncio.Redis
) -> None:
    for value in (param("city"), {"secret": "NO_SUCH"}, param("key")):
        failing = await call_of(astore, bind("x", value))
        omitting = await call_of(astore, bind("x", value, whenUnbound="omit"))
        assert "the bound argument x has no value: " in refusal(store, failing, Secrets())
        assert given(store, omitting, Secrets()) == Given(left_out=frozenset({"x"}))
    exposed = await call_of(astore, bind("x", param("city"), whenUnbound="expose"))
    assert given(store, exposed) == Given()


async def test_a_refusal_says_what_to_do_and_no_value(store: redis.Redis, astore: redis.asyncio.Redis) -> None:
    unset = await call_of(astore, bind("x", param("city")), bind("y", {"secret": "NAMED"}))
    assert refusal(store, unset) == (
        "the bound argument x has no value: parameter city was not set when the session was started: --set city=VALUE"
    )
    unread = Secrets({}, {("runner", "key"): Unread("the variable K is not set")})
    assert refusal(store, await call_of(astore, bind("x", param("key"))), unread) == (
        "the bound argument x has no value: secret key is not in this worker's ERRANDS_SECRETS_FILE, "
        "and of its default: the variable K is not set"
    )


async def test_what_is_set_later_is_seen_by_the_next_call(store: redis.Redis, astore: redis.asyncio.Redis) -> None:
    claimed = await call_of(astore, bind("x", param("city")), parameters='{"city":"Lima"}')
    values = Values(store, SECRETS)
    first = values.of(claimed, SCHEMA)
    store.hset(keys.session(claimed.session), "parameters", '{"city":"Rome"}')
    assert (first.values, values.of(claimed, SCHEMA).values) == ({"x": "Lima"}, {"x": "Rome"})


async def test_an_agent_that_is_read_once_is_kept(store: redis.Redis, astore: redis.asyncio.Redis) -> None:
    claimed = await call_of(astore, bind("x", {"secret": "NAMED"}))
    values = Values(store, SECRETS)
    first = values.of(claimed, SCHEMA)
    digest: Any = store.hget(keys.session(claimed.session), "agent")
    store.delete(keys.agent(digest))
    assert values.of(claimed, SCHEMA) == first
    assert "is not in the store any more" in refusal(store, claimed)
