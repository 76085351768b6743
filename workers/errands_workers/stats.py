"""Our `stats` in place of Celery's: of a broker on a Unix socket Celery would tell the password, and Flower show it."""

from __future__ import annotations

from typing import Any

from celery.worker.control import Panel
from kombu.utils.url import maybe_sanitize_url


def replace_stats() -> None:
    """From now on the worker of this process answers this remote command without any password."""
    celerys = Panel.data["stats"]

    def stats(state: Any, **options: Any) -> dict[str, Any]:
        return without_password(celerys(state, **options))

    Panel.data["stats"] = stats


def without_password(told: dict[str, Any]) -> dict[str, Any]:
    """The same, with the broker's host as it may be shown: a socket's stands there as the whole URL."""
    broker: dict[str, Any] = told["broker"]
    return {**told, "broker": {**broker, "hostname": maybe_sanitize_url(broker["hostname"])}}
