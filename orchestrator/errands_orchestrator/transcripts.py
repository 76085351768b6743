"""Transcripts kept ready between the steps of a session: the newest ones, whole, as the bytes that are sent."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from errands_orchestrator import reads, sessions
from errands_orchestrator.session import Entry
from errands_orchestrator.transcript import Transcript

KEPT_BYTES = 64 * 1024 * 1024
"""Most text that one process keeps; the sessions that were stepped longest ago are read again when they come back."""


@dataclass(slots=True)
class _Kept:
    transcript: Transcript
    entries: int


class Transcripts:
    """A bounded memory of transcripts. What the log says wins: a transcript that fell behind is read on from there."""

    def __init__(self, store: reads.Store, limit: int = KEPT_BYTES) -> None:
        self._store = store
        self._limit = limit
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    async def upto(self, sid: str, entries: int, system_prompt: str) -> Transcript:
        """The transcript of a session whose log has that many entries."""
        kept = self._kept.get(sid)
        if kept is None or kept.entries > entries:
            kept = self._kept[sid] = _Kept(Transcript(system_prompt), 0)
        if kept.entries < entries:
            missing = await sessions.entries_of(self._store, sid, kept.entries)
            self._extend(kept, missing[: entries - kept.entries])
        self._kept.move_to_end(sid)
        self._bound()
        return kept.transcript

    def committed(self, sid: str, before: int, entries: Sequence[Entry]) -> None:
        """Add what was committed after `before` entries, if this transcript is kept and had reached them."""
        kept = self._kept.get(sid)
        if kept is not None and kept.entries == before:
            self._extend(kept, entries)

    def forget(self, sid: str) -> None:
        """Drop a transcript."""
        self._kept.pop(sid, None)

    def _extend(self, kept: _Kept, entries: Sequence[Entry]) -> None:
        for entry in entries:
            kept.transcript.append(entry)
            kept.entries += 1

    def _bound(self) -> None:
        while len(self._kept) > 1 and sum(kept.transcript.size for kept in self._kept.values()) > self._limit:
            self._kept.popitem(last=False)
