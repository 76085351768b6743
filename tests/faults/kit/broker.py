"""Celery's messages, seen and moved from outside."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from random import Random
from typing import Any

import redis

from errands_config import keys
from errands_config.wire import TaskMessage
from errands_orchestrator.dispatcher import Publication, message


def calls_in(texts: Sequence[str]) -> list[str]:
    """The calls that these messages are for."""
    return [json.loads(base64.b64decode(json.loads(text)["body"]))[1]["call"] for text in texts]


class Broker:
    """The lists of messages."""

    def __init__(self, store: redis.Redis) -> None:
        self._store = store

    def queues(self) -> list[str]:
        """Every queue that was ever published to."""
        names: Any = self._store.smembers(keys.QUEUES)
        return sorted(names)

    def waiting(self) -> dict[str, list[str]]:
        """Queue -> the messages that nobody has taken."""
        found: dict[str, Any] = {queue: self._store.lrange(queue, 0, -1) for queue in self.queues()}
        return {queue: texts for queue, texts in found.items() if texts}

    def published(self, cid: str) -> tuple[str, str]:
        """The message of a call's present attempt as it was published, and its queue."""
        record: Any = self._store.hmget(keys.call(cid), ("session", "queue", "attempt", "tool", "queued_at", "limits"))
        session, queue, attempt, tool, queued_at, limits = record
        names = tuple((limits or "").split())
        body = TaskMessage(
            call=cid, session=session, queue=queue, attempt=int(attempt), published=int(queued_at), limits=names
        )
        return queue, message(Publication(f"{cid}.{attempt}d", f"tool.{tool}", body, 3600))

    def push(self, queue: str, texts: Sequence[str]) -> None:
        """Put messages behind those that wait."""
        if texts:
            self._store.lpush(queue, *texts)

    def take_all(self) -> dict[str, list[str]]:
        """Take every message off its list; queue -> what was taken."""
        taken: dict[str, list[str]] = {}
        for queue in self.queues():
            with self._store.pipeline(transaction=True) as pipe:
                pipe.lrange(queue, 0, -1)
                pipe.delete(queue)
                texts: Any = pipe.execute()[0]
            if texts:
                taken[queue] = texts
        return taken

    def put_back(self, taken: dict[str, list[str]], numbers: Random) -> None:
        """Put them on again, in another order."""
        for queue, texts in taken.items():
            self.push(queue, numbers.sample(texts, len(texts)))
