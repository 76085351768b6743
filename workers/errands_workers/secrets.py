"""The secrets that a worker knows: those of its file, and the defaults of its agents' secret parameters.

They are read once, when the worker starts; what is missing is told when a call needs it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NoReturn, TypeAlias

from errands_config.agent import load_agent
from errands_config.agent_file.bindings import FromCommand, FromEnvironment, FromFile
from errands_config.agent_file.json_text import read_json
from errands_config.errors import ConfigError
from errands_config.parameter_sources import Unread, flaw_of_value, read_source
from errands_config.settings import Settings
from errands_workers.plan import WorkerPlan

VARIABLE = "ERRANDS_SECRETS_FILE"
_Defaults: TypeAlias = Mapping[tuple[str, str], "str | Unread"]


class Secrets:
    """Secrets by name. Nothing of a value shows in its repr.

    `defaults` are those of secret parameters, by the slug of their agent and their own name.
    """

    __slots__ = ("_defaults", "_named")

    def __init__(
        self, named: Mapping[str, str] = MappingProxyType({}), defaults: _Defaults = MappingProxyType({})
    ) -> None:
        self._named = named
        self._defaults = defaults

    def __repr__(self) -> str:
        return f"<Secrets: {len(self._named)} named, {len(self._defaults)} of parameters>"

    @property
    def known(self) -> Mapping[str, str]:
        """All that have a value, each under a name of its own."""
        defaults = {f"{slug} {name}": one for (slug, name), one in self._defaults.items() if isinstance(one, str)}
        return {**defaults, **self._named}

    def named(self, name: str) -> str | Unread:
        """The secret that a binding names."""
        value = self._named.get(name)
        return Unread(f"secret {name} is not in this worker's {VARIABLE}") if value is None else value

    def of_parameter(self, slug: str, name: str) -> str | Unread:
        """The value of an agent's secret parameter: the secret of its name, else its default."""
        value = self.named(name)
        default = self._defaults.get((slug, name))
        if isinstance(value, str) or default is None:
            return value
        return Unread(f"{value.why}, and of its default: {default.why}") if isinstance(default, Unread) else default


def load_secrets(settings: Settings, plan: WorkerPlan) -> Secrets:
    """Read them all. ConfigError for a secrets file that others may read or that is no JSON object of strings."""
    named = _from_file(settings.secrets_file) if settings.secrets_file else {}
    return Secrets(named, dict(_defaults(plan, named)))


def _defaults(plan: WorkerPlan, named: Mapping[str, str]) -> Iterator[tuple[tuple[str, str], str | Unread]]:
    for path in plan.agents:
        agent = load_agent(path, api_key_ids=None)
        for one in agent.parameters:
            source = one.default
            if one.secret and one.name not in named and isinstance(source, FromEnvironment | FromFile | FromCommand):
                yield (agent.slug, one.name), read_source(source, path.absolute().parent)


def _from_file(path: Path) -> Mapping[str, str]:
    text = _private(path)
    try:
        content = read_json(text, str(path))
    except ConfigError as wrong:
        raise ConfigError(str(wrong), path=VARIABLE) from None
    if not isinstance(content, dict):
        _refuse(path, 'a JSON object of strings is expected: {"name": "value"}')
    return {name: _checked(path, name, value) for name, value in content.items()}


def _checked(path: Path, name: str, value: object) -> str:
    if not isinstance(value, str):
        _refuse(path, f"the value of {name!r} is no string")
    if flaw := flaw_of_value(value):
        _refuse(path, f"the value of {name!r} cannot be used: {flaw}")
    return value


def _private(path: Path) -> bytes:
    """The bytes of a file that nobody else may read; the file that was looked at is the one that is read."""
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                _refuse(path, "it is no regular file")
            if status.st_uid != os.getuid():
                _refuse(path, "it belongs to another user")
            if stat.S_IMODE(status.st_mode) & 0o077:
                _refuse(path, f"others may read it: chmod 600 {path}")
            return file.read()
    except OSError as unreadable:
        _refuse(path, unreadable.strerror or "it cannot be read")


def _refuse(path: Path, why: str) -> NoReturn:
    raise ConfigError(f"{path}: {why}", path=VARIABLE)
