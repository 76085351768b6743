"""The values of an agent's parameters: those of a new session, and those that are set later.

Secret ones are not among them: workers know their values, and nobody else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import JsonValue

from errands_config import keys
from errands_config.agent import Agent, parse_agent
from errands_config.agent_file.bindings import FromApiKey, Given, Parameter
from errands_config.agent_file.finding import guess
from errands_config.agent_file.json_text import canonical_json
from errands_config.errors import ConfigError, NotFound
from errands_config.parameter_sources import Unread, read_source
from errands_config.scripts.parameters import set_parameters
from errands_config.scripts.script import arun
from errands_config.stored_agent import StoredAgent
from errands_orchestrator import reads

_PATH = "--set"


def parameter_values(agent: Agent, folder: Path | None, given: Mapping[str, JsonValue]) -> str:
    """The values of a new session as JSON text: those given, else the defaults; empty for an agent without parameters.

    `folder` is where the agent file lies. Without one the agent came from the store, and what its defaults name
    (variables, files, commands) is not touched. Raises ConfigError for an unknown or secret name, and for a required
    parameter without a value. A default may be a command, which takes up to 30 s.
    """
    checked = _checked(agent, given)
    if not agent.parameters:
        return ""
    defaults = {one.name: _default(one, folder) for one in agent.parameters if not one.secret and one.name not in given}
    _refuse_missing([one for one in agent.parameters if one.required], defaults)
    return _json({**{name: one for name, one in defaults.items() if not isinstance(one, Unread)}, **checked})


async def changed_parameters(store: reads.Store, sid: str, given: Mapping[str, JsonValue]) -> None:
    """Set parameters of scope `message` of a session: calls that begin from now on are given these values.

    Raises NotFound for an unknown session, ConfigError for names that cannot be set.
    """
    while True:
        digest, old = await reads.fields(store, keys.session(sid), ("agent", "parameters"))
        text = None if digest is None else (await reads.texts(store, keys.agent(digest)))[0]
        if text is None:
            raise NotFound(f"no session {sid!r}: `errands session list` lists them")
        agent = parse_agent(StoredAgent.model_validate_json(text).file, origin="a stored agent", api_key_ids=None)
        values = {**json.loads(old or "{}"), **_of_messages(agent, given)}
        if await arun(store, set_parameters(sid, old or "", _json(values))) != "changed":
            return


def _of_messages(agent: Agent, given: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    checked = _checked(agent, given)
    for one in agent.parameters:
        if one.name in checked and one.scope != "message":
            text = f'is of scope "{one.scope}": it is set when a session is started; "message" could be set here'
            raise ConfigError(f"parameter {one.name} {text}", path=_PATH)
    return checked


def _checked(agent: Agent, given: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    by_name = {one.name: one for one in agent.parameters}
    for name, value in given.items():
        if name not in by_name:
            raise ConfigError(f"agent {agent.slug} has no parameter {name!r}{_known(name, agent)}", path=_PATH)
        if by_name[name].secret:
            raise ConfigError(f"parameter {name} is secret: {_whence(by_name[name])}", path=_PATH)
        if not _is_json(value):
            raise ConfigError(f"the value of {name} cannot be written as JSON", path=_PATH)
    return given


def _known(name: str, agent: Agent) -> str:
    names = sorted(one.name for one in agent.parameters if not one.secret)
    return f"{guess(name, names)}; known: {', '.join(names)}" if names else "; it has none that could be set"


def _whence(one: Parameter) -> str:
    """Where the value of a secret parameter comes from."""
    file = "workers take it from the file of ERRANDS_SECRETS_FILE"
    return f"{file}, or from its default in the agent file" if one.default else file


def _default(one: Parameter, folder: Path | None) -> JsonValue | Unread:
    match one.default:
        case None | FromApiKey():
            return Unread("it has no default")
        case Given(contents=value):
            return value
        case source if folder is None:
            return Unread(f"its default, {source.tag}, is read only where the agent file itself is given")
        case source:
            return read_source(source, folder)


def _refuse_missing(required: Sequence[Parameter], defaults: Mapping[str, JsonValue | Unread]) -> None:
    unread = {name: value.why for name, value in defaults.items() if isinstance(value, Unread)}
    lines = [
        f"{one.name} has no value ({unread[one.name]}): --set {one.name}=VALUE"
        for one in required
        if one.name in unread
    ]
    if lines:
        raise ConfigError("\n".join(lines), path="parameters")


def _is_json(value: JsonValue) -> bool:
    try:
        _json(value)
    except (ValueError, TypeError, RecursionError):
        return False
    return True


def _json(value: JsonValue) -> str:
    """Raises ValueError, TypeError or RecursionError for what has no JSON form."""
    text = canonical_json(value)
    text.encode()
    return text
