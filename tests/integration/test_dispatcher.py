"""Publishing through kombu, which raises errors of its own kind when a connection is lost at the wrong moment."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
import redis
from structlog.testing import capture_logs

from errands_config.settings import Settings
from errands_config.store import broker_url
from errands_config.wire import TaskMessage
from errands_orchestrator.dispatcher import Dispatcher, Publication


@dataclass(frozen=True, slots=True)
class Broken(Publication):
    """A message at which the batch breaks, as kombu's own does: on some lost connections, and then not as an error of
    the broker."""

    @property
    def shown(self) -> str:
        raise AttributeError("'NoneType' object has no attribute 'client'")


@pytest.fixture
async def dispatcher(settings: Settings) -> AsyncIterator[Dispatcher]:
    made = Dispatcher(broker_url(settings))
    yield made
    made.close()


def body(queue: str) -> TaskMessage:
    return TaskMessage(call=f"of {queue}", session="s", queue=queue, attempt=1, published=0)


def publication(queue: str) -> Publication:
    return Publication(f"for {queue}", "tool.t", body(queue), 60.0)


async def test_a_batch_that_breaks_fails_nobody_and_the_log_says_where(
    dispatcher: Dispatcher, store: redis.Redis
) -> None:
    with capture_logs() as logs:
        await dispatcher.publish([publication("one"), Broken("b", "tool.t", body("one"), 60.0)])
    [told] = logs
    assert told["event"] == "publish.failed"
    assert told["detail"].startswith("AttributeError at ")
    assert "NoneType" not in told["detail"]


async def test_a_batch_after_a_broken_one_is_sent(dispatcher: Dispatcher, store: redis.Redis) -> None:
    await dispatcher.publish([publication("one"), Broken("b", "tool.t", body("one"), 60.0)])
    await dispatcher.publish([publication("one"), publication("two")])
    sent: list[Any] = [store.llen("one"), store.llen("two")]
    assert sent == [1, 1]
