"""What a deployment sets: environment variables that begin with `ERRANDS_`, read once at each entry point."""

from __future__ import annotations

import difflib
import os
import re
import socket
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias
from urllib.parse import parse_qsl, urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, ValidationError, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from errands_config.errors import ConfigError
from errands_config.wire import SharedLimit

PREFIX = "ERRANDS_"

NOT_SETTINGS = frozenset(
    PREFIX + name
    for name in (
        "SESSION_ID",  # of the call that a tool works for, as its environment says
        "TOOL_CALL_ID",
        "ATTEMPT",
        "WORKER",
        "TOKEN",  # of a deferred call, read by `errands session complete`
        "INCARNATION",  # from the worker launcher to the Celery process that it starts
        "WORKER_PLAN",
    )
)
"""Variables with our prefix that are no settings: they are read, or set, where they are used."""

Durability: TypeAlias = Literal["durable", "fast"]

_URL_OPTIONS = frozenset({"db", "ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_cert_reqs", "ssl_check_hostname"})
_CONFIDENTIAL = frozenset({"redis_url", "broker_url", "api_keys", "secret_key"})
_SHORTEST_KEY = 32


def _store_url(url: str) -> str:
    """Refuse what redis-py or kombu would misread. No message repeats the URL, which may hold a password."""
    parts = urlsplit(url)
    if parts.scheme not in ("redis", "rediss", "unix"):
        raise ValueError("must begin with redis://, rediss:// or unix:///")
    if parts.scheme == "unix" and (parts.hostname or not parts.path.strip("/")):
        raise ValueError("wants the socket's absolute path: unix:///path/to/socket?db=0")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    if unknown := options.keys() - _URL_OPTIONS:
        raise ValueError(f"unknown option {min(unknown)!r}; known are {', '.join(sorted(_URL_OPTIONS))}")
    database = options.get("db", "") if parts.scheme == "unix" else options.get("db", parts.path.strip("/"))
    if not (database or "0").isdecimal():
        raise ValueError("the database must be a number, as in redis://host:6379/0")
    _ = parts.port  # a ValueError of its own unless it is a port
    return url


def _long_enough(key: SecretStr) -> SecretStr:
    if len(key.get_secret_value()) < _SHORTEST_KEY:
        raise ValueError(f"wants at least {_SHORTEST_KEY} characters, as `openssl rand -hex 32` prints them")
    return key


def _absolute(path: Path) -> Path:
    return path.expanduser().absolute()


class LimitSetting(BaseModel):
    """A shared limit as the settings write it: at least one of its two bounds."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)

    concurrency: int | None = Field(default=None, ge=1)
    per_minute: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _bounds_something(self) -> LimitSetting:
        if self.concurrency is None and self.per_minute is None:
            raise ValueError('wants "concurrency", "perMinute" or both')
        return self


def _named_plainly(limits: dict[str, LimitSetting]) -> dict[str, LimitSetting]:
    for name in limits:
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
            raise ValueError(f"{name!r} is no name for a limit: letters, digits, - and _")
    return limits


class Settings(BaseSettings):
    """All settings of one process. Frozen; secrets and passwords do not show in its repr."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, frozen=True, extra="forbid", validate_default=True
    )

    redis_url: Annotated[str, AfterValidator(_store_url)] | None = Field(
        default=None,
        description="The store: redis://, rediss:// or unix:///path?db=0. Unset: an embedded store in ERRANDS_HOME.",
    )
    broker_url: SecretStr | None = Field(
        default=None,
        description="A broker for Celery other than the store, as Celery writes its URL. Unset: the store. Elsewhere a "
        "message that the broker itself loses is sent again only once a later call of its queue was claimed.",
    )
    durability: Durability = Field(
        default="fast",
        description="Of the embedded store: `durable` writes every change to disk before it answers; "
        "`fast` writes once a second, so a crash of the store may undo up to two seconds.",
    )
    home: Annotated[Path, AfterValidator(_absolute)] = Field(
        default=Path(".errands"),
        description="Folder of the embedded store and all local state; made with mode 700.",
    )
    host: str = Field(
        default_factory=socket.gethostname,
        min_length=1,
        max_length=253,
        description="Name of this machine in worker names and lists.",
    )
    api_keys: dict[str, SecretStr] = Field(
        default_factory=dict[str, SecretStr],
        description='Model keys that agent files may name in apiKeyId, as JSON: {"name": "key"}.',
    )
    secret_key: Annotated[SecretStr, AfterValidator(_long_enough)] | None = Field(
        default=None,
        description="Key that the tokens of deferred calls are made with: the same for all who give or take them. "
        "Unset: the file `secret-key` in ERRANDS_HOME, made when it is first needed.",
    )
    secrets_file: Annotated[Path, AfterValidator(_absolute)] | None = Field(
        default=None,
        description='Of a worker: a JSON file {"name": "value"} with the secrets that bindings name, for it alone.',
    )
    limits: Annotated[dict[str, LimitSetting], AfterValidator(_named_plainly)] = Field(
        default_factory=dict[str, LimitSetting],
        description="Limits that agent files may name in sharedLimits, over all sessions and hosts, as JSON: "
        '{"name": {"concurrency": 2, "perMinute": 60}}.',
    )
    model: str | None = Field(default=None, description="Model of agents whose file names none.")
    model_url: str | None = Field(default=None, description="Endpoint of agents whose file names none.")
    model_timeout_seconds: float = Field(
        default=600, gt=0, description="Longest wait for one answer of the model endpoint."
    )
    forbid_requests: bool = Field(
        default=False,
        description="Refuse every request to a model endpoint: for test suites, which are to need no key.",
    )
    lease_seconds: float = Field(
        default=6.0, gt=0, description="How long a session belongs to an orchestrator that stopped renewing it."
    )
    beat_seconds: float = Field(default=1.0, gt=0, description="Time between two beats of a worker.")
    lost_after_seconds: float = Field(
        default=5.0, gt=0, description="A worker whose beat stood still that long is lost: its calls are settled."
    )
    sweep_seconds: float = Field(
        default=0.5, gt=0, lt=2, description="Time between two looks of an orchestrator at lost workers and deadlines."
    )
    drain_seconds: float = Field(
        default=25,
        ge=0,
        description="What running calls get after their worker was told to go. Behind that they are lost, or started "
        "again elsewhere where that is safe. A restarter's own patience must be longer.",
    )
    partition_seconds: float = Field(
        default=60, gt=0, description="A worker that cannot reach the store for that long kills its tools."
    )
    max_deferred_seconds: float = Field(
        default=604_800, gt=0, description="Longest wait of a deferred call for somebody outside."
    )
    max_question_seconds: float = Field(
        default=604_800, gt=0, description="Longest wait of a question of the model for its user's answer."
    )
    keep_sessions_days: float = Field(
        default=30,
        ge=0,
        description="A session that nobody touched for so long, and of which nothing runs, is deleted. 0: never.",
    )
    keep_calls_days: float = Field(
        default=30,
        ge=0,
        description="Records of calls, with their results, are deleted so long after they were made, once the model "
        "was told. 0: with their session.",
    )
    max_stored_bytes: int = Field(
        default=8 * 1024 * 1024,
        ge=1,
        description="Most of one result that is stored; of a larger one, head and tail. Of what a call prints while it "
        "runs, its beginning is stored, a little less than half of this.",
    )

    @model_validator(mode="after")
    def _fit_together(self) -> Settings:
        """Refuse spans under which healthy workers would be taken for lost, or lost ones never noticed in time."""
        if self.lost_after_seconds < 3 * self.beat_seconds:
            raise ValueError("ERRANDS_LOST_AFTER_SECONDS must be at least three times ERRANDS_BEAT_SECONDS")
        if self.partition_seconds < self.lost_after_seconds:
            raise ValueError("ERRANDS_PARTITION_SECONDS must not be less than ERRANDS_LOST_AFTER_SECONDS")
        return self

    @property
    def shared_limits(self) -> tuple[SharedLimit, ...]:
        """The limits as calls carry them."""
        return tuple(SharedLimit(name=name, **limit.model_dump()) for name, limit in self.limits.items())

    @property
    def shown_url(self) -> str:
        """The store as it may be shown and logged: without its password."""
        if self.redis_url is None:
            return f"the embedded store in {self.home}"
        login = urlsplit(self.redis_url).netloc.rpartition("@")[0]
        name, colon, _ = login.partition(":")
        return self.redis_url.replace(login, f"{name}:***", 1) if colon else self.redis_url

    def at(self, url: str) -> Settings:
        """The same settings with this store: an embedded one that was started, for example."""
        return self.model_copy(update={"redis_url": url})

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        for name, value in super().__repr_args__():
            yield name, self.shown_url if name == "redis_url" and value else value


def load_settings() -> Settings:
    """Read the environment.

    A variable with our prefix that is unknown or has a bad value is a ConfigError that names it.
    """
    _refuse_unknown(os.environ.keys())
    try:
        return Settings()
    except ValidationError as invalid:
        raise _config_error(invalid.errors()[0]) from None
    except SettingsError as unread:  # its text may quote the value, which may be keys
        raise _not_json(unread) from None


def _not_json(unread: SettingsError) -> ConfigError:
    if '"limits"' in str(unread):
        return ConfigError('must be JSON: {"name": {"concurrency": 2}}', path=f"{PREFIX}LIMITS")
    return ConfigError('must be a JSON object of strings: {"name": "key"}', path=f"{PREFIX}API_KEYS")


def make_home(home: Path) -> Path:
    """Make the folder of local state, mode 700, ignored by git, and return it.

    A folder that holds other things is refused (ConfigError): all of it would become private and ignored.
    """
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        return _private(home)
    except OSError as unusable:
        raise ConfigError(f"{home}: {unusable.strerror}; name a folder of your own", path=f"{PREFIX}HOME") from None


def _private(home: Path) -> Path:
    ignore = home / ".gitignore"
    if home.stat().st_uid != os.getuid():
        raise ConfigError(f"{home} belongs to another user; name a folder of your own", path=f"{PREFIX}HOME")
    if any(home.iterdir()) and not (ignore.exists() and ignore.read_text().strip() in ("", "*")):
        raise ConfigError(f"{home} holds other files; name a folder that is new or empty", path=f"{PREFIX}HOME")
    home.chmod(0o700)
    ignore.write_text("*\n")
    return home


def _refuse_unknown(names: Set[str]) -> None:
    ours = {name.upper() for name in names if name.upper().startswith(PREFIX)}
    known = {field.upper() for field in Settings.model_fields}
    settings = {PREFIX + field for field in known}
    for name in sorted(ours - settings - NOT_SETTINGS - _of_cluster_services(ours)):
        close = difflib.get_close_matches(name.removeprefix(PREFIX), known, n=1)
        hint = f"did you mean {PREFIX}{close[0]}?" if close else "unset it"
        raise ConfigError(f"no such setting; {hint}", path=name)


def _of_cluster_services(names: Set[str]) -> set[str]:
    """What Kubernetes sets by itself in every pod beside a service called `errands` or `errands-something`."""
    services = [name.removesuffix("_SERVICE_HOST") for name in names if name.endswith("_SERVICE_HOST")]
    starts = tuple(f"{service}_{word}" for service in services for word in ("SERVICE_", "PORT"))
    return {name for name in names if name.startswith(starts)}


def _config_error(error: ErrorDetails) -> ConfigError:
    message = error["msg"].removeprefix("Value error, ")
    if not error["loc"]:
        return ConfigError(message)
    field = str(error["loc"][0])
    shown = "" if field in _CONFIDENTIAL else f" (it is {str(error['input'])!r})"
    return ConfigError(message + shown, path=PREFIX + field.upper())
