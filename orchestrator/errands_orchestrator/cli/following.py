"""The events of a session, one after another, as they come."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass

from redis.exceptions import RedisError

from errands_config import keys
from errands_config.errors import StoreUnreachable
from errands_config.store import aio_blocking
from errands_orchestrator import reads, sessions
from errands_orchestrator.cli.connecting import Reached
from errands_orchestrator.cli.output import say

BLOCK_SECONDS = 1.0
AWAY_SECONDS = 60.0
"""How long a person waits in front of a store that is away."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One event. Its facts never hold arguments, results or what anybody said."""

    seq: str
    kind: str
    facts: Mapping[str, str]

    def ends(self, cid: str) -> bool:
        """Whether it is the end of this call."""
        return self.facts.get("tool_call_id") == cid and self.kind not in _OPEN


@dataclass(frozen=True, slots=True)
class Point:
    """A moment of a session: its newest event, and the length of its log. What comes later is news."""

    event: str = "0-0"
    entries: int = 0


_OPEN = frozenset({"tool_call.queued", "tool_call.started", "tool_call.progressed", "tool_call.deferred"})


async def present(store: reads.Store, sid: str) -> Point:
    """The session as it is now."""
    newest = await reads.newest(store, keys.events(sid), 1)
    return Point(newest[0][0] if newest else "0-0", await sessions.length_of(store, sid))


async def events_after(there: Reached, sid: str, since: str, seconds: float = math.inf) -> AsyncIterator[Seen]:
    """Every event later than `since`, for so long. Waits for a store that is away; raises StoreUnreachable at last."""
    connection = aio_blocking(there.settings, BLOCK_SECONDS)
    try:
        answered = began = time.monotonic()
        while (left := began + seconds - time.monotonic()) > 0:
            entries = await _next(connection, sid, since, min(left, BLOCK_SECONDS))
            if entries is None:
                await _wait_for_store(there, answered)
                continue
            answered = time.monotonic()
            for seq, fields in entries:
                since = seq
                yield Seen(seq, fields["kind"], fields)
    finally:
        await connection.aclose()


async def _next(connection: reads.Store, sid: str, since: str, seconds: float) -> Sequence[reads.StreamEntry] | None:
    """Events that came; none if none came in time; None if the store did not answer."""
    try:
        return await reads.follow(connection, keys.events(sid), since, math.ceil(seconds * 1000))
    except RedisError:
        return None


async def _wait_for_store(there: Reached, answered: float) -> None:
    if time.monotonic() - answered > AWAY_SECONDS:
        raise StoreUnreachable(f"{there.settings.shown_url} has not answered for {AWAY_SECONDS:.0f} s")
    say("the store does not answer; waiting for it")
    await there.revive()
    await asyncio.sleep(BLOCK_SECONDS)
