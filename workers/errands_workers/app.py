"""The Celery app: one task a tool. What arrives is an id and the permission for one attempt; what is shown, a state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import structlog
from celery import Celery
from celery.exceptions import Ignore
from pydantic import ValidationError

from errands_config.settings import Settings
from errands_config.store import broker_url
from errands_config.wire import CallState, TaskMessage
from errands_workers.runner import Dropped, Ended

log = structlog.get_logger()

Runner = Callable[[TaskMessage], Dropped | Ended]

_SHOWN_AS_FAILURE = frozenset({CallState.FAILED, CallState.TIMED_OUT})


class CallFailed(Exception):
    """What Celery and Flower see of a call that failed: the kind of failure, nothing of the tool's own exception."""


def make_app(settings: Settings) -> Celery:
    """A Celery app on the store. The broker only carries hints, so nothing in it is acknowledged late or kept."""
    app = Celery("errands", broker=broker_url(settings), set_as_current=False)
    app.conf.update(
        task_default_queue="default",
        task_ignore_result=True,
        task_acks_late=False,
        worker_disable_prefetch=True,
        worker_prefetch_multiplier=1,
        worker_pool_start_method="fork",
        task_serializer="json",
        accept_content=["json"],
        worker_send_task_events=True,
        task_send_sent_event=True,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_transport_options={
            "socket_timeout": 30,
            "socket_connect_timeout": 5,
            "socket_keepalive": True,
            "health_check_interval": 25,
            "visibility_timeout": 3600,
            "unacked_restore_interval": 5,
            "unacked_restore_throttle": 1,
        },
    )
    return app


def register_tool(app: Celery, name: str, run: Runner) -> None:
    """Add the task `tool.<name>`. Its keyword arguments are a TaskMessage's fields."""

    def call(task: Any, **fields: Any) -> str:
        try:
            message = TaskMessage.model_validate(fields)
        except ValidationError:
            return "dropped: unreadable message"
        return _shown(task, run(message))

    app.task(call, bind=True, name=f"tool.{name}", throws=(CallFailed,))


def _shown(task: Any, end: Dropped | Ended) -> str:
    """The end as Celery knows ends: a short text, a failure, or a revocation."""
    if isinstance(end, Ended) and end.state == CallState.CANCELLED:
        _say_revoked(task)
        raise Ignore
    if isinstance(end, Ended) and end.state in _SHOWN_AS_FAILURE:
        raise CallFailed(end.text)
    return end.text


def _say_revoked(task: Any) -> None:
    """Without this event Flower would show the task as started for ever; it is a hint, like all events."""
    try:
        task.send_event("task-revoked", retry=False, terminated=True, signum=None, expired=False)
    except Exception as away:
        log.info("worker.event_not_sent", error=type(away).__name__)
