"""The events of a session as an application sees them: typed, one after another, and never with a silent gap."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, cast

from errands_config import keys
from errands_config.errors import ConfigError, StoreUnreachable
from errands_config.store import aio_blocking
from errands_config.wire import CallState
from errands_orchestrator import decisions, reads, sessions
from errands_orchestrator.client_place import Place

BEGINNING = "0-0"
"""The position before the first event."""
BLOCK_SECONDS = 1.0
AWAY_SECONDS = 60.0
"""How long events wait for a store that is away."""

CallEventKind: TypeAlias = Literal[
    "tool_call.queued", "tool_call.started", "tool_call.progressed", "tool_call.deferred", "tool_call.completed",
    "tool_call.failed", "tool_call.denied", "tool_call.skipped", "tool_call.expired", "tool_call.timed_out",
    "tool_call.cancelled", "tool_call.orphaned",
]  # fmt: skip
EventKind: TypeAlias = decisions.EventKind | CallEventKind | Literal["reset"]
"""What happened. `reset`: events before this point are gone; whoever keeps a picture of the session draws it anew."""

_POSITION = re.compile(r"\d+-\d+")


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a session. It never holds arguments, results or what anybody said."""

    id: str
    """Its position: events `since` it are those that come later."""
    kind: EventKind
    session: str
    at: int
    """Store time, ms; 0 for a `reset`."""
    call: str = ""
    """Our id of the call that it is about; empty if it is about none."""
    tool: str = ""
    """That call's tool."""
    facts: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """What else it says, such as `status` of `run.ended`, `cause` of `run.paused`, `elapsed_ms` of a call's end."""

    @property
    def ends_call(self) -> bool:
        """Whether it is the end of its call."""
        word = self.kind.removeprefix("tool_call.")
        return word in set(CallState) and CallState(word).is_final


_OWN_FIELDS = frozenset({"kind", "at", "session_id", "conversation_id", "tool_call_id", "tool"})


def event_of(sid: str, entry: reads.StreamEntry) -> Event:
    """An entry of a session's stream."""
    seq, fields = entry
    return Event(
        id=seq,
        kind=cast("EventKind", fields["kind"]),
        session=sid,
        at=int(fields["at"]),
        call=fields.get("tool_call_id", ""),
        tool=fields.get("tool", ""),
        facts=MappingProxyType({name: value for name, value in fields.items() if name not in _OWN_FIELDS}),
    )


async def position_of(store: reads.Store, sid: str) -> str:
    """The position of the newest event."""
    newest = await reads.newest(store, keys.events(sid), 1)
    return newest[0][0] if newest else BEGINNING


async def events_of(place: Place, sid: str, since: str, *, follow: bool) -> AsyncGenerator[Event]:
    """Every event later than `since`, then, with `follow`, those to come.

    Where events after the position are not kept any more a `reset` comes first, then those that are. Raises NotFound,
    ConfigError for what is no position, and StoreUnreachable when the store has been away for AWAY_SECONDS.
    """
    if not _POSITION.fullmatch(since):
        raise ConfigError(f"{since!r} is not the id of an event", path="since")
    await sessions.status_of(place.store, sid)
    reader = _Reader(place, sid, since)
    try:
        while True:
            entries = await reader.read(BLOCK_SECONDS if follow else 0)
            for event in entries:
                yield event
            if not (entries or follow):
                return
    finally:
        await reader.close()


class _Reader:
    """Reads one stream from a position on, on a connection of its own."""

    def __init__(self, place: Place, sid: str, since: str) -> None:
        self._place = place
        self._sid = sid
        self._since = since
        self._connection = aio_blocking(place.settings, BLOCK_SECONDS)
        self._answered = time.monotonic()

    async def read(self, seconds: float) -> Sequence[Event]:
        """What came within so many seconds; a store that is away is waited for."""
        while True:
            try:
                events = await self._read(seconds)
            except reads.AWAY:
                await self._wait_for_store()
            else:
                self._answered = time.monotonic()
                return events

    async def _read(self, seconds: float) -> Sequence[Event]:
        # the position is looked at after the read: if it is there now, nothing behind it was dropped before
        entries = await self._entries(seconds)
        is_kept = await self._is_kept()
        events = [event_of(self._sid, entry) for entry in entries]
        if is_kept:
            self._since = entries[-1][0] if entries else self._since
            return events
        await sessions.status_of(self._connection, self._sid)  # raises NotFound: it was deleted with its events
        reset = Event(id=self._since, kind="reset", session=self._sid, at=0)
        self._since = entries[-1][0] if entries else await position_of(self._connection, self._sid)
        return [reset, *events]

    async def _entries(self, seconds: float) -> Sequence[reads.StreamEntry]:
        key = keys.events(self._sid)
        if seconds:
            return await reads.follow(self._connection, key, self._since, int(seconds * 1000))
        return cast("list[reads.StreamEntry]", await self._connection.xrange(key, f"({self._since}", "+"))

    async def _is_kept(self) -> bool:
        """Whether every event later than the position is still in the stream."""
        key = keys.events(self._sid)
        if self._since != BEGINNING:
            return bool(await self._connection.xrange(key, self._since, self._since))
        if not await self._connection.exists(key):
            return True
        stream = cast("Mapping[str, Any]", await self._connection.xinfo_stream(key))
        return stream["entries-added"] == stream["length"]

    async def _wait_for_store(self) -> None:
        if time.monotonic() - self._answered > AWAY_SECONDS:
            raise StoreUnreachable(f"{self._place.settings.shown_url} has not answered for {AWAY_SECONDS:.0f} s")
        await self._place.there.revive()
        await asyncio.sleep(BLOCK_SECONDS)

    async def close(self) -> None:
        """Give the connection back."""
        await self._connection.aclose()
