"""Log lines made from the events of all sessions: each at least once, by one of the orchestrators.

The orchestrators share a consumer group over `errands:events`; what one of them read and did not acknowledge before it
died is read by another.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import orjson
import redis.asyncio
from redis.exceptions import ResponseError

from errands_config import keys

GROUP = "log"
BLOCK_SECONDS = 2.0
STALE_MS = 10_000
"""How long a reader may take to acknowledge before another one prints what it had read."""
GONE_MS = 24 * 3600 * 1000
"""A reader that asked for nothing for that long has ended; its name is dropped from the group."""
_OURS = frozenset({"kind", "at"})
"""Whatever lacks one of these is no event of ours, and is passed over."""
NUMBERS = frozenset({"queued_ms", "elapsed_ms", "payload_bytes", "attempt", "timeout_seconds", "turn"})
LEVELS: Mapping[str, str] = {
    "tool_call.failed": "warning", "tool_call.timed_out": "warning", "tool_call.orphaned": "warning",
    "turn.failed": "warning", "run.paused": "warning",
}  # fmt: skip


def log_line(fields: Mapping[str, str], *, stamped: bool = True) -> str:
    """One event as a JSON log line: `ts` (unless told not), `kind`, `level`, and the event's facts."""
    at = datetime.fromtimestamp(int(fields["at"]) / 1000, UTC).isoformat(timespec="milliseconds")
    head = {"ts": at.replace("+00:00", "Z")} if stamped else {}
    facts = {name: _typed(name, value) for name, value in fields.items() if name not in ("kind", "at", "seq")}
    kind = fields["kind"]
    return orjson.dumps(head | {"kind": kind, "level": LEVELS.get(kind, "info")} | facts).decode()


def _typed(name: str, value: str) -> str | int | float:
    if name not in NUMBERS:
        return value
    number = float(value)
    return int(number) if number.is_integer() else number


class EventLog:
    """Prints the events of all sessions on stderr."""

    def __init__(self, store: redis.asyncio.Redis, reader: str, *, stale_ms: int = STALE_MS) -> None:
        self._store = store
        self._reader = reader
        self._stale_ms = stale_ms

    async def open(self) -> None:
        """Make the group, once in a store's life; it begins with what is to come."""
        try:
            await self._store.xgroup_create(keys.EVENTS, GROUP, id="$", mkstream=True)
        except ResponseError as exists:
            if "BUSYGROUP" not in str(exists):
                raise
        await self._drop_readers_that_ended()

    async def _drop_readers_that_ended(self) -> None:
        try:
            readers: Any = await self._store.xinfo_consumers(keys.EVENTS, GROUP)
        except ResponseError:  # a store that died has forgotten the group since; the next read makes it again
            return
        for reader in readers:
            if reader["idle"] > GONE_MS and not reader["pending"]:
                await self._store.xgroup_delconsumer(keys.EVENTS, GROUP, reader["name"])

    async def print_some(self) -> None:
        """Print what came, and what a dead reader left; waits up to `BLOCK_SECONDS` for it.

        A store that lost the group, for example in a crash right after its making, gets it again.
        """
        try:
            await self._print_some()
        except ResponseError as missing:
            if "NOGROUP" not in str(missing):
                raise
            await self.open()

    async def _print_some(self) -> None:
        left: Any = await self._store.xautoclaim(keys.EVENTS, GROUP, self._reader, self._stale_ms, count=100)
        await self._print(left[1])
        fresh: Any = await self._store.xreadgroup(
            GROUP, self._reader, {keys.EVENTS: ">"}, count=200, block=int(BLOCK_SECONDS * 1000)
        )
        for _, entries in fresh or ():
            await self._print(entries)

    async def _print(self, entries: Any) -> None:
        lines = [log_line(fields) for _, fields in entries if fields.keys() >= _OURS]
        if lines:
            print("\n".join(lines), file=sys.stderr, flush=True)  # noqa: T201 - the log is this process's stderr
        if entries:
            await self._store.xack(keys.EVENTS, GROUP, *(seq for seq, _ in entries))
