"""The form of a Celery message, and the one place that publishes outside the commit script.

The commit script puts a call's message on its queue itself; the form is the one that kombu writes, taken from kombu in
memory at the first use (`tests/contract/test_message_form.py` compares both on a real store). Repeats go through
kombu's batch in a thread of its own: kombu blocks.
"""

from __future__ import annotations

import asyncio
import base64
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import orjson
import structlog
from celery import Celery
from kombu.exceptions import BatchPublishError, OperationalError

from errands_config.defects import where_raised
from errands_config.scripts.calls import Republish
from errands_config.wire import CallPolicy, TaskMessage

log = structlog.get_logger()

BACKSTOP_SECONDS = 60.0
"""How long after a call's own limit Celery's comes."""

_AWAY = (OperationalError, BatchPublishError)
"""What kombu means to raise of a broker that will be back by itself."""


@dataclass(frozen=True, slots=True)
class Publication:
    """One Celery message: its own id, the task's name, and what Flower shows of it instead of arguments."""

    celery_id: str
    task: str
    body: TaskMessage
    limit_seconds: float
    """Celery's own limit, which kills the pool process: only a backstop, should supervisor and launcher both fail."""

    @property
    def shown(self) -> str:
        """What stands for the arguments wherever Celery shows them."""
        return f"session={self.body.session} call={self.body.call} attempt={self.body.attempt}"


def first_publication(cid: str, sid: str, tool: str, queue: str, now: int, policy: CallPolicy) -> Publication:
    """The message that a commit publishes: the call's first attempt."""
    limits = tuple(limit.name for limit in policy.limits)
    body = TaskMessage(call=cid, session=sid, queue=queue, attempt=1, published=now, limits=limits)
    return Publication(cid, f"tool.{tool}", body, policy.timeout_seconds + BACKSTOP_SECONDS)


def repeated_publication(again: Republish) -> Publication:
    """The first message of a further attempt, or one that is published again, under a Celery id of its own."""
    body = TaskMessage(
        call=again.cid,
        session=again.sid,
        queue=again.queue,
        attempt=again.attempt,
        published=again.now,
        limits=again.limits,
    )
    celery_id = f"{again.cid}.{again.attempt}{f'r{again.count}' if again.count > 1 else ''}"
    return Publication(celery_id, f"tool.{again.tool}", body, again.timeout_seconds + BACKSTOP_SECONDS)


def _options(publication: Publication) -> dict[str, Any]:
    return {
        "kwargs": publication.body.model_dump(),
        "task_id": publication.celery_id,
        "queue": publication.body.queue,
        "argsrepr": "()",
        "kwargsrepr": publication.shown,
        "ignore_result": True,
        "time_limit": publication.limit_seconds,
    }


@cache
def _form() -> dict[str, Any]:
    """A message as kombu writes it, from a broker in memory."""
    app = Celery("errands", broker="memory://", set_as_current=False)
    body = TaskMessage(call="c", session="s", queue="form", attempt=1, published=0)
    app.send_task("tool.form", **_options(Publication("c", "tool.form", body, 1.0)))
    with app.connection_for_read() as connection:
        channel: Any = connection.default_channel
        return cast("dict[str, Any]", channel._get("form"))


def message(publication: Publication) -> str:
    """The text that goes on the queue's list, field by field as kombu would have written it."""
    form = _form()
    body = orjson.dumps([[], publication.body.model_dump(), _embedded(form)])
    headers = form["headers"] | {
        "task": publication.task,
        "id": publication.celery_id,
        "root_id": publication.celery_id,
        "kwargsrepr": publication.shown,
        "timelimit": [publication.limit_seconds, None],
    }
    properties = form["properties"] | {
        "correlation_id": publication.celery_id,
        "kwargsrepr": publication.shown,
        "delivery_info": {"exchange": "", "routing_key": publication.body.queue},
        "delivery_tag": str(uuid.uuid4()),
    }
    text = form | {"body": base64.b64encode(body).decode(), "headers": headers, "properties": properties}
    return orjson.dumps(text).decode()


@cache
def _embedded_of(body: str) -> Any:
    return orjson.loads(base64.b64decode(body))[2]


def _embedded(form: dict[str, Any]) -> Any:
    return _embedded_of(form["body"])


def _told(failed: Exception) -> str:
    """What went wrong, for the log; of what is not meant to be raised, the place and not the text."""
    return str(failed) if isinstance(failed, _AWAY) else f"{type(failed).__name__} at {where_raised(failed)}"


class Dispatcher:
    """Publishes through kombu, in one thread.

    Nothing that fails in there may fail anything else: a connection that is lost at the wrong moment makes kombu raise
    all kinds of errors, such as AttributeError, and whatever is not sent is found and repeated, or was only a hint.
    """

    def __init__(self, broker_url: str) -> None:
        self._app = Celery("errands", broker=broker_url, set_as_current=False)
        self._app.conf.update(
            task_ignore_result=True,
            task_send_sent_event=True,
            broker_transport_options={"socket_timeout": 10, "socket_connect_timeout": 5, "socket_keepalive": True},
        )
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="dispatcher")

    async def publish(self, publications: Sequence[Publication]) -> None:
        """Send messages in one batch. What is not sent now, because the broker is away, is found and repeated later."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._send, tuple(publications))

    async def nudge(self, cids: Sequence[str]) -> None:
        """Tell every worker to look at the wishes of these calls now: a revoke, which our workers read as that."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._nudge, list(cids))

    def _nudge(self, cids: list[str]) -> None:
        try:
            self._app.control.revoke(cids)
        except Exception as failed:
            # Only a hint: the worker reads the wish with its next beat.
            log.info("nudge.failed", count=len(cids), detail=_told(failed))

    def _send(self, publications: Sequence[Publication]) -> None:
        try:
            with self._app.producer_pool.acquire(block=True) as producer, producer.batch(max_size=200):
                for publication in publications:
                    self._app.send_task(publication.task, producer=producer, **_options(publication))
        except Exception as failed:
            log.warning("publish.failed", count=len(publications), detail=_told(failed))

    def close(self) -> None:
        """End the thread and the connections."""
        self._thread.shutdown(wait=True, cancel_futures=True)
        self._app.close()
