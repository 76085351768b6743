"""How much one request takes of all that is to be told. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from errands_orchestrator.brief import Brief


@dataclass(frozen=True, slots=True)
class Room:
    """What one request still takes of all that is to be told."""

    items: int | None = None
    bytes: int | None = None
    """None: no bound."""
    is_whole: bool = True
    """Nothing went into it yet, so that the first piece does, whatever its size."""

    def taking(self, texts: Sequence[str]) -> tuple[int, Room]:
        """How many of these texts, from the first on, go in; and the room that they leave."""
        room = self
        for number, text in enumerate(texts):
            left = room._without(text)
            if left is None:
                return number, room
            room = left
        return len(texts), room

    def _without(self, text: str) -> Room | None:
        items = None if self.items is None else self.items - 1
        separated = text if self.is_whole else f"\n\n{text}"
        size = None if self.bytes is None else self.bytes - len(separated.encode())
        is_full = (items is not None and items < 0) or (size is not None and size < 0)
        return None if is_full and not self.is_whole else Room(items, size, is_whole=False)


UNBOUNDED = Room()


def room_of(brief: Brief) -> Room:
    """What a request of this agent takes."""
    return Room(brief.agent.delivery.max_items, brief.agent.delivery.max_bytes)
