"""What a capability works with, and the words that they share."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import orjson

from errands_orchestrator import reads
from errands_orchestrator.arrivals import Answered
from errands_orchestrator.brief import Brief
from errands_orchestrator.calls import Nudge
from errands_orchestrator.session import CapabilityCall, Session

NOT_FOUND = "tool call not found"


@dataclass(frozen=True, slots=True)
class Desk:
    """One question of the model about its own calls: who asks, what it knows, the store, the store's time in ms."""

    store: reads.Store
    brief: Brief
    session: Session
    call: CapabilityCall
    now: int
    nudge: Nudge

    @property
    def arguments(self) -> dict[str, object]:
        """What the model asked, validated before."""
        return orjson.loads(self.call.arguments)

    def named(self) -> str:
        """The id that it asks about."""
        return str(self.arguments["tool_call_id"])

    @property
    def max_bytes(self) -> int:
        """Most of one result that the model gets."""
        return self.brief.agent.delivery.max_result_bytes

    def says(self, answer: object, **more: object) -> Answered:
        """An answer as compact JSON."""
        return Answered(self.call.id, orjson.dumps(answer).decode(), **more)  # pyright: ignore[reportArgumentType]


def when(ms: int) -> str | None:
    """A store time as RFC 3339 UTC; None for one that has not come."""
    return (
        datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z") if ms else None
    )
