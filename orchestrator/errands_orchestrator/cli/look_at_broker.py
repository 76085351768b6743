"""Facts about a broker that is not the store, for `errands doctor`. What speaks kombu is imported by nobody here."""

from __future__ import annotations

import socket
from urllib.parse import SplitResult, unquote, urlsplit

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from errands_config.settings import Settings
from errands_orchestrator.cli.checks.broker import BrokerFacts

SECONDS = 3.0
"""Longest wait for an answer."""
_PORTS = {"redis": 6379, "rediss": 6379, "amqp": 5672, "pyamqp": 5672, "amqps": 5671, "sentinel": 26379}


def broker_facts(settings: Settings) -> BrokerFacts | None:
    """What came of a try to reach the broker; None where the store is the broker."""
    if settings.broker_url is None:
        return None
    parts = urlsplit(settings.broker_url.get_secret_value().split(";")[0])
    try:
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return BrokerFacts(parts.scheme, "its URL has no number for a port")
    if parts.scheme in ("redis", "redis+socket"):
        return _asked(parts, port)
    if not (parts.hostname and port):
        return BrokerFacts(parts.scheme, tried="nothing")
    return _called(parts.hostname, port)


def _asked(parts: SplitResult, port: int | None) -> BrokerFacts:
    """Another Redis: log in and ask."""
    user, password = (unquote(word) if word else None for word in (parts.username, parts.password))
    path = unquote(parts.path) if parts.scheme == "redis+socket" else None
    host = parts.hostname or "localhost"
    client = redis.Redis(
        host, port or 6379, unix_socket_path=path, username=user, password=password, retry=Retry(NoBackoff(), 0),
        socket_timeout=SECONDS, socket_connect_timeout=SECONDS, protocol=2, driver_info=None,
    )  # fmt: skip
    place = path or f"{host}:{port}"
    try:
        with client:
            client.ping()
    except redis.RedisError as trouble:
        return BrokerFacts(place, str(trouble))
    return BrokerFacts(place)


def _called(host: str, port: int) -> BrokerFacts:
    """Any other broker: connect."""
    place = f"{host}:{port}"
    try:
        socket.create_connection((host, port), SECONDS).close()
    except OSError as refused:
        return BrokerFacts(place, refused.strerror or str(refused))
    return BrokerFacts(place, tried="connection")
