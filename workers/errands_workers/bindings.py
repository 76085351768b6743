"""Bound arguments: what a call is given that is not the model's to choose.

Values are looked up just before the tool runs. They stand in no record, no log and no error.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import redis
from pydantic import JsonValue

from errands_config import keys
from errands_config.agent import Agent, parse_agent
from errands_config.agent_file.bindings import Binding, LiteralValue, ParamValue, SecretValue
from errands_config.bound_arguments import arguments_of
from errands_config.errors import ToolError
from errands_config.parameter_sources import Unread
from errands_config.stored_agent import StoredAgent
from errands_config.wire import Claimed
from errands_workers.persistence import until_answered
from errands_workers.secrets import Secrets

_AGENTS_KEPT = 64


@dataclass(frozen=True, slots=True)
class Given:
    """What a call is given. Its repr shows no value."""

    values: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue], repr=False)
    """By argument, secrets included."""
    secrets: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """The secrets among them, by the name of the secret or parameter."""
    left_out: frozenset[str] = frozenset()
    """Bound arguments without a value that the tool gets none of: not the model's, either."""


class Values:
    """Looks up what calls are given. Several threads may use it."""

    def __init__(self, store: redis.Redis, secrets: Secrets) -> None:
        self._store = store
        self._secrets = secrets
        self._agents: dict[str, Agent] = {}

    def of(self, claimed: Claimed, parameters: str) -> Given:
        """What this call is given. `parameters` is the tool's own JSON schema: what it does not take is not bound.

        Store troubles delay it. Raises ToolError, with no value in it, if one is missing that must be there.
        """
        takes = arguments_of(parameters)
        wanted = [bound for bound in claimed.policy.bound if bound.arg in takes]
        if not wanted:
            return Given()
        agent, values = until_answered(lambda: self._session(claimed.session))
        return _given([self._found(agent, bound.arg, agent.bindings[bound.binding], values) for bound in wanted])

    def _session(self, sid: str) -> tuple[Agent, Mapping[str, JsonValue]]:
        """A session's agent, and the values of its parameters."""
        fields: Any = self._store.hmget(keys.session(sid), ["agent", "parameters"])
        digest, parameters = fields
        agent = self._agents.get(digest) or self._read(digest)
        self._agents = dict([*self._agents.items(), (digest, agent)][-_AGENTS_KEPT:])
        return agent, json.loads(parameters or "{}")

    def _read(self, digest: str | None) -> Agent:
        text: Any = self._store.get(keys.agent(digest)) if digest else None
        if text is None:
            raise ToolError("its bound arguments have no value: the agent of this session is not in the store any more")
        return parse_agent(StoredAgent.model_validate_json(text).file, origin="a stored agent", api_key_ids=None)

    def _found(self, agent: Agent, arg: str, binding: Binding, values: Mapping[str, JsonValue]) -> _Found:
        match binding.value:
            case LiteralValue(contents=value):
                return _Found(arg, binding, value)
            case SecretValue(secret=name):
                return _Found(arg, binding, self._secrets.named(name), name)
            case ParamValue(contents=name) if any(one.secret for one in agent.parameters if one.name == name):
                return _Found(arg, binding, self._secrets.of_parameter(agent.slug, name), name)
            case ParamValue(contents=name):
                unset = Unread(f"parameter {name} was not set when the session was started: --set {name}=VALUE")
                return _Found(arg, binding, values.get(name, unset))


@dataclass(frozen=True, slots=True)
class _Found:
    """A bound argument and what was found for it. `secret`: the name of a secret value."""

    arg: str
    binding: Binding
    value: JsonValue | Unread = field(repr=False)
    secret: str = ""


def _given(found: Sequence[_Found]) -> Given:
    for one in found:
        if isinstance(one.value, Unread) and one.binding.when_unbound == "fail":
            raise ToolError(f"the bound argument {one.arg} has no value: {one.value.why}")
    return Given(
        values={one.arg: one.value for one in found if not isinstance(one.value, Unread)},
        secrets={one.secret: one.value for one in found if one.secret and isinstance(one.value, str)},
        left_out=frozenset(
            one.arg for one in found if isinstance(one.value, Unread) and one.binding.when_unbound == "omit"
        ),
    )


def merged(arguments: str, given: Given) -> str:
    """Arguments, the JSON text of an object, with what is bound put in: it wins over what stands there.

    Without bound arguments the text keeps its bytes.
    """
    if not (given.values or given.left_out):
        return arguments
    sent: dict[str, JsonValue] = json.loads(arguments)
    kept = {name: value for name, value in sent.items() if name not in given.left_out}
    return json.dumps({**kept, **given.values}, ensure_ascii=False, separators=(",", ":"))
