"""Arguments of ours that calls take beside those of their tools: a name, a key, what they wait for. Pure.

They are in the schema that the model sees and stand in the history as it sent them; policy, hooks, tool and record
never see them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, cast

from pydantic import JsonValue

from errands_config.agent import Agent
from errands_config.errors import ConfigError
from errands_config.policy import Policy
from errands_config.wire import ToolOffer

HANDLE: Final = "task_handle"
KEY: Final = "idempotency_key"
DEPENDS: Final = "depends_on"
CONFIRM: Final = "confirm_duplicate"

_FORMS: Mapping[str, Mapping[str, JsonValue]] = {
    HANDLE: {
        "type": "string",
        "pattern": "^[A-Za-z0-9_.:-]{1,64}$",
        "description": "A name of your choice for this call, by which you ask about it, wait for it or cancel it. "
        "Never use one twice.",
    },
    KEY: {
        "type": "string",
        "minLength": 1,
        "maxLength": 256,
        "description": "With a key, the same call made again is not run again: it answers with the first one's state.",
    },
    DEPENDS: {
        "type": "array",
        "items": {"type": "string", "minLength": 1, "maxLength": 256},
        "maxItems": 100,
        "description": "Handles or ids of calls that must have completed before this one starts. "
        "If one of them does not complete, this one is skipped.",
    },
    CONFIRM: {
        "type": "boolean",
        "description": "Run it although an equal call has not ended yet.",
    },
}


@dataclass(frozen=True, slots=True)
class Injected:
    """What a call says in our own arguments."""

    handle: str = ""
    key: str = ""
    depends_on: tuple[str, ...] = ()
    confirmed: bool = False


NOTHING = Injected()


def injected_names(agent: Agent, policy: Policy, offer: ToolOffer) -> tuple[str, ...]:
    """Which of our arguments the calls of a tool take: none unless the agent file has a `registry` and it runs in the
    background. A name that the tool has itself is left to the tool."""
    if not agent.has_registry or policy.resolve(offer.name, {}).disposition != "runAsync":
        return ()
    own = own_names(offer.parameters)
    return tuple(name for name in _wanted(agent) if name not in own)


def _wanted(agent: Agent) -> tuple[str, ...]:
    handle = (HANDLE,) if agent.registry.handles else ()
    confirm = (CONFIRM,) if agent.registry.on_duplicate == "confirm" else ()
    return (*handle, KEY, DEPENDS, *confirm)


@lru_cache(maxsize=1024)
def own_names(parameters: str) -> frozenset[str]:
    """The arguments that a schema names; none for what is no schema of an object."""
    properties = (_object(parameters) or {}).get("properties")
    return frozenset(cast("Mapping[str, object]", properties)) if isinstance(properties, dict) else frozenset()


def _object(parameters: str) -> dict[str, Any] | None:
    """A schema; None for what is none of an object, which whoever lists the tools refuses."""
    try:
        schema: object = json.loads(parameters)
    except ValueError:
        return None
    return cast("dict[str, Any]", schema) if isinstance(schema, dict) else None


def with_injected(parameters: str, names: Collection[str]) -> str:
    """A schema as the model sees it."""
    schema = _object(parameters) if names else None
    if schema is None:
        return parameters
    ours = _schema(tuple(names))
    schema["properties"] = {**schema.get("properties", {}), **ours["properties"]}
    if required := [*schema.get("required", ()), *ours.get("required", ())]:
        schema["required"] = required
    return json.dumps(schema, ensure_ascii=False, separators=(",", ":"))


@lru_cache(maxsize=64)
def injected_schema(names: tuple[str, ...]) -> str:
    """The schema of our arguments alone, whatever stands beside them."""
    return json.dumps(_schema(names))


def _schema(names: tuple[str, ...]) -> dict[str, Any]:
    form: dict[str, Any] = {"type": "object", "properties": {name: _FORMS[name] for name in names}}
    return form | ({"required": [HANDLE]} if HANDLE in names else {})


def taken_apart(
    value: Mapping[str, JsonValue], names: Collection[str]
) -> tuple[dict[str, JsonValue], dict[str, JsonValue]]:
    """Our arguments of a call, and its own."""
    ours = {name: part for name, part in value.items() if name in names}
    return ours, {name: part for name, part in value.items() if name not in names}


def read_injected(ours: Mapping[str, Any]) -> Injected:
    """Our arguments as values. They fit `injected_schema`."""
    return Injected(
        handle=ours.get(HANDLE, ""),
        key=ours.get(KEY, ""),
        depends_on=tuple(ours.get(DEPENDS, ())),
        confirmed=ours.get(CONFIRM, False),
    )


def check_no_own_handles(agent: Agent, policy: Policy, offers: Collection[ToolOffer]) -> None:
    """Raises ConfigError where handles are wanted for a background tool that has an argument of this name itself."""
    if not agent.registry.handles:
        return
    for offer in offers:
        if policy.resolve(offer.name, {}).disposition == "runAsync" and HANDLE in own_names(offer.parameters):
            raise ConfigError(
                f"tool {offer.name} has an argument {HANDLE} of its own: rename it there, or leave handles out",
                path="registry.handles",
            )
