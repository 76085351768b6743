"""How a worker's Celery process takes our messages, hands them to its pool and tells Flower what became of them.

Celery's own way serves retries, schedules, results and callbacks, which no call of ours has, and takes half of a call's
time. This is its extension point for that (`Task.Strategy`); pool, limits and remote commands stay Celery's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

import orjson
import structlog
from celery import Task, current_app
from celery.exceptions import InvalidTaskError, TaskRevokedError
from celery.worker.request import Request
from celery.worker.state import revoked, task_ready, task_reserved

log = structlog.get_logger()

Shown: TypeAlias = tuple[Literal["succeeded", "failed", "revoked"], str]
"""An end as Celery knows ends, and a short text that tells nothing of the call's content."""

Fields: TypeAlias = Mapping[str, Any]


class ToolTask(Task):
    """A task that stands for one tool. `run` takes a message's fields and answers with a `Shown`."""

    abstract = True
    Strategy = "errands_workers.request:admit"
    ignore_result = True


def admit(task: ToolTask, _app: Any, consumer: Any) -> Callable[..., None]:
    """What takes the messages of one task, as `Task.Strategy` wants it."""

    def take(message: Any, _body: Any, ack: Callable[..., None], _reject: Any, callbacks: Any) -> None:
        acknowledged = consumer.task_consumer.no_ack
        request = CallRequest(message, task, consumer, None if acknowledged else ack)
        if request.revoked():
            return
        request.tell_received()
        task_reserved(request)
        for callback in callbacks:
            callback(request)
        consumer.on_task_request(request)

    return take


def perform(name: str, fields: Fields) -> tuple[Shown, float]:
    """Run in the pool: one message of the task `name`; the end and the seconds that it took."""
    began = time.monotonic()
    tasks: Any = current_app.tasks
    shown: Shown = tasks[name].run(**fields)
    return shown, time.monotonic() - began


class CallRequest(Request):
    """One message from its arrival to its end, for the pool's callbacks and for `inspect active` and `reserved`."""

    def __init__(self, message: Any, task: ToolTask, consumer: Any, ack: Callable[..., None] | None) -> None:
        """`ack` is None where the broker takes a delivered message for done. Raises InvalidTaskError."""
        headers: dict[str, Any] = message.headers
        try:
            _, self._kwargs, _ = orjson.loads(message.body)
            self.id = _text(headers["id"])
            self.time_limits = _limits(headers.get("timelimit"))
        except (KeyError, ValueError, TypeError) as wrong:
            raise InvalidTaskError(f"not a message of Errands: {type(wrong).__name__}") from None
        self._args = ()
        self._type = self.name = headers["task"]
        self._argsrepr, self._kwargsrepr = headers.get("argsrepr", ""), headers.get("kwargsrepr", "")
        self._request_dict = headers
        self._delivery_info = message.delivery_info
        self._hostname, self._eventer = consumer.hostname, consumer.event_dispatcher
        self._connection_errors = consumer.connection_errors
        self._task = task
        self._on_ack = ack
        self.acknowledged = ack is None
        self._expires = None

    def revoked(self) -> bool:
        """Whether it was revoked while it waited; tells so."""
        if self.id not in revoked:
            return False
        self._revoked()
        return True

    def _revoked(self) -> None:
        task_ready(self)
        self.acknowledge()
        self.send_event("task-revoked", terminated=True, signum=None, expired=False)

    def tell_received(self) -> None:
        """Tell those who watch that it is here."""
        self.send_event(
            "task-received", name=self.name, args=self._argsrepr, kwargs=self._kwargsrepr, root_id=self.id,
            parent_id=None, retries=0, eta=None, expires=None,
        )  # fmt: skip

    def execute_using_pool(self, pool: Any, **_: Any) -> Any:
        """Hand it to the pool. Raises TaskRevokedError."""
        if self.revoked():
            raise TaskRevokedError(self.id)
        return pool.apply_async(
            perform,
            args=(self.name, self._kwargs),
            accept_callback=self.on_accepted,
            timeout_callback=self.on_timeout,
            callback=self.on_success,
            error_callback=self.on_failure,
            timeout=self.time_limits[0],
            correlation_id=self.id,
        )

    def on_success(self, end: tuple[Shown, float], **_: Any) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The pool process has brought it to an end, of whatever kind."""
        (kind, text), seconds = end
        if kind == "revoked":
            self._revoked()
            return
        task_ready(self, successful=kind == "succeeded")  # pyright: ignore[reportCallIssue] - there are two of it
        if kind == "succeeded":
            self.send_event("task-succeeded", result=repr(text), runtime=seconds)
        else:
            self._tell_failed(f"CallFailed({text!r})")

    def on_failure(self, exc_info: Any, *_: Any, **__: Any) -> None:
        """The pool process is gone, or what runs in it is broken. The records are the launcher's to put right."""
        task_ready(self)
        self.acknowledge()
        kind = type(getattr(exc_info.exception, "exc", exc_info.exception)).__name__  # it may be wrapped, for pickling
        log.warning("worker.call_failed", celery_id=self.id, error=kind)
        self._tell_failed(kind)

    def on_timeout(self, soft: bool, timeout: float) -> None:
        """The backstop has killed the pool process."""
        task_ready(self)
        log.error("worker.hard_limit", celery_id=self.id, seconds=timeout)
        self._tell_failed(f"TimeLimitExceeded({timeout})")

    def _tell_failed(self, exception: str) -> None:
        self.send_event("task-failed", exception=exception, traceback="")


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _limits(value: Any) -> tuple[float | None, None]:
    """The hard limit of a message, seconds; a soft one is not ours. Celery's process dies of what it cannot compare."""
    hard, _ = value or (None, None)
    return None if hard is None else float(hard), None
