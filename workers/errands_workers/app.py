"""The Celery app: one task a tool. What arrives is an id and the permission for one attempt; what is shown, a state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from celery import Celery
from celery.app.amqp import AMQP
from pydantic import ValidationError

from errands_config.settings import Settings
from errands_config.store import broker_url
from errands_config.wire import CallState, TaskMessage
from errands_workers.request import Shown, ToolTask
from errands_workers.runner import Dropped, Ended

Runner = Callable[[TaskMessage], Dropped | Ended]

_SHOWN_AS_FAILURE = frozenset({CallState.FAILED, CallState.TIMED_OUT})


class _Unacknowledged(AMQP):
    """Queues whose broker forgets a message as it delivers it, which spares two round trips a call.

    Nothing rests on the acknowledgement: what a worker took and did not claim is published again by a sweeper.
    """

    def TaskConsumer(self, *args: Any, **options: Any) -> Any:  # noqa: N802 - Celery's name
        """What consumes tasks."""
        return super().TaskConsumer(*args, no_ack=True, **options)


def make_app(settings: Settings) -> Celery:
    """A Celery app on the store. The broker only carries hints, so nothing in it is acknowledged late or kept."""
    amqp = AMQP if settings.broker_url else _Unacknowledged
    app = Celery("errands", broker=broker_url(settings), amqp=amqp, set_as_current=False)
    app.conf.update(
        task_default_queue="default",
        task_ignore_result=True,
        task_acks_late=False,
        worker_disable_prefetch=True,
        worker_prefetch_multiplier=1,
        worker_pool_start_method="fork",
        task_serializer="json",
        accept_content=["json"],
        worker_send_task_events=False,  # a fifth of a call's time; whoever watches (Flower) switches them on
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

    def call(**fields: Any) -> Shown:
        try:
            message = TaskMessage.model_validate(fields)
        except ValidationError:
            return "succeeded", "dropped: unreadable message"
        return _shown(run(message))

    app.task(call, base=ToolTask, name=f"tool.{name}")


def _shown(end: Dropped | Ended) -> Shown:
    """The end as Celery knows ends."""
    if isinstance(end, Ended) and end.state == CallState.CANCELLED:
        return "revoked", end.text
    if isinstance(end, Ended) and end.state in _SHOWN_AS_FAILURE:
        return "failed", end.text
    return "succeeded", end.text
