"""Transcripts kept ready between the steps of a session: the newest ones, whole, as the bytes that are sent."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from errands_orchestrator import reads, sessions
from errands_orchestrator.compaction import as_seen, has_compaction
from errands_orchestrator.models.model import Dialect
from errands_orchestrator.session import Entry
from errands_orchestrator.transcript import Transcript

KEPT_BYTES = 64 * 1024 * 1024
"""Most text that one process keeps; the sessions that were stepped longest ago are read again when they come back."""


@dataclass(slots=True)
class _Kept:
    prompt: str
    transcript: Transcript
    entries: int = 0

    def extend(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            self.transcript.append(entry)
            self.entries += 1


class Transcripts:
    """A bounded memory of transcripts. What the log says wins: a transcript that fell behind is read on from there."""

    def __init__(self, store: reads.Store, limit: int = KEPT_BYTES) -> None:
        self._store = store
        self._limit = limit
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._size = 0

    async def upto(self, sid: str, entries: int, system_prompt: str, dialect: Dialect = "chat") -> Transcript:
        """The transcript of a session whose log has that many entries. Raises TranscriptBroken."""
        kept = self._taken(sid)
        as_before = kept is not None and (kept.prompt, kept.transcript.dialect) == (system_prompt, dialect)
        if kept is None or not as_before or kept.entries > entries:
            kept = _Kept(system_prompt, Transcript(system_prompt, dialect))
        if kept.entries < entries:
            missing = (await sessions.entries_of(self._store, sid, kept.entries))[: entries - kept.entries]
            if kept.entries and has_compaction(missing):
                kept = _Kept(system_prompt, Transcript(system_prompt, dialect))
                missing = (await sessions.entries_of(self._store, sid))[:entries]
            kept.extend(as_seen(missing))
        self._keep(sid, kept)
        return kept.transcript

    def committed(self, sid: str, before: int, entries: Sequence[Entry]) -> None:
        """Add what was committed after `before` entries, if this transcript is kept and had reached them; after a
        compaction it is made anew from the whole log."""
        kept = self._taken(sid)
        if kept is not None and kept.entries == before and not has_compaction(entries):
            kept.extend(entries)
            self._keep(sid, kept)

    def forget(self, sid: str) -> None:
        """Drop a transcript."""
        self._taken(sid)

    def _taken(self, sid: str) -> _Kept | None:
        kept = self._kept.pop(sid, None)
        if kept is not None:
            self._size -= kept.transcript.size
        return kept

    def _keep(self, sid: str, kept: _Kept) -> None:
        """Keep this one as the newest, and drop the oldest where there is too much; the newest one always stays."""
        self._kept[sid] = kept
        self._size += kept.transcript.size
        while len(self._kept) > 1 and self._size > self._limit:
            self._taken(next(iter(self._kept)))
