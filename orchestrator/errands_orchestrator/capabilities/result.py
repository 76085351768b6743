"""`get-tool-call-result`: a call's result page by page, or what it has printed so far, or the lines of it that match.

A cursor is a place in the text. A running call only adds to its output, and the result of a script that completes is
all of it; so reading on gives each line once, however the reads fall.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from errands_config import keys
from errands_config.text import clean, framed
from errands_config.wire import CallState
from errands_orchestrator import reads
from errands_orchestrator.arrivals import Answered, Begun
from errands_orchestrator.calls import CallRow, call_row, resolve
from errands_orchestrator.capabilities.desk import NOT_FOUND, Desk
from errands_orchestrator.capabilities.status import OWN_MESSAGE
from errands_orchestrator.paging import NotACursor, cursor_at, line_at, line_count, page_end, place_of
from errands_orchestrator.searching import BadPattern, Pattern, compiled, search
from errands_orchestrator.texts import whole_text, word

GREP_SECONDS = 1.0
"""How long one search may take, but for the piece that it is at."""
GREP_BYTES = 16_384
"""Most of matching lines in one answer."""

NOT_ONE = "not a cursor: take next_cursor of an earlier answer as it stands, or leave it out to begin anew"
ANOTHER = (
    "What stood before the cursor is not there any more, because the call was started again or its result is not what "
    "it had printed. This is from the beginning."
)
GOES_ON = "The last line goes on in the next page."
NOT_ALL = "There may be more matching lines: go on with next_cursor."
NOT_KEPT = "[what it printed from here on was not kept]\n"
KEPT_AT_THE_END = "It has printed more than is kept while it runs. Of a call that completes the result has more."


@dataclass(frozen=True, slots=True)
class _Readable:
    """What there is to read of a call, and why it is not all that was printed."""

    row: CallRow
    text: str
    note: str = ""

    @property
    def is_final(self) -> bool:
        return self.row.state.is_final

    def next_cursor(self, end: int) -> str | None:
        """How to read on; None when nothing more will come."""
        return None if self.is_final and end == len(self.text) else cursor_at(self.text, end)

    def framed(self, text: str) -> str:
        """A part of the text as the model may see it. Cleaned here, since the whole may be megabytes."""
        return framed(clean(text).text, noted=bool(self.row.outcome and self.row.outcome.noted))

    def says(self, desk: Desk, answer: dict[str, object], *notes: str, paged: tuple[str, ...] = ()) -> Answered:
        """An answer about it."""
        row = self.row
        head = {"tool_call_id": desk.named(), "status": word(row.state), "is_final": row.state.is_final}
        note = " ".join(note for note in (self.note, *notes) if note)
        return desk.says(head | answer | ({"note": note} if note else {}), paged=paged)


async def begin(desk: Desk) -> Begun:
    """There is nothing to wait for."""
    return Begun(desk.call.id)


async def answer(desk: Desk) -> Answered:
    """Read from the cursor on, or search there."""
    cid = await resolve(desk.store, desk.session, desk.named())
    found = await _readable(desk.store, cid) if cid else None
    if found is None:
        return desk.says({"error": NOT_FOUND})
    if found.is_final and found.row.id in desk.session.answered_here:
        return found.says(desk, {"text": OWN_MESSAGE})
    try:
        cursor, grep = str(desk.arguments.get("cursor", "")), str(desk.arguments.get("grep", ""))
        start = place_of(cursor, found.text) if cursor else 0
        pattern = compiled(grep) if grep else None
    except NotACursor:
        return found.says(desk, {"error": NOT_ONE})
    except BadPattern as wrong:
        return found.says(desk, {"error": f"grep: {wrong}"})
    note = ANOTHER if start is None else ""
    return await _searched(desk, found, start or 0, pattern, note) if pattern else _page(desk, found, start or 0, note)


def _page(desk: Desk, found: _Readable, start: int, note: str) -> Answered:
    text = found.text
    end = page_end(text, start, desk.max_bytes)
    is_cut = 0 < end < len(text) and text[end - 1] != "\n"
    said: dict[str, object] = {
        "text": found.framed(text[start:end]),
        "first_line": line_at(text, start),
        "total_lines": line_count(text),
        "total_bytes": len(text.encode()),
        "next_cursor": found.next_cursor(end),
    }
    is_read = found.is_final and end == len(text)
    return found.says(desk, said, note, GOES_ON if is_cut else "", paged=(found.row.id,) if is_read else ())


async def _searched(desk: Desk, found: _Readable, start: int, pattern: Pattern, note: str) -> Answered:
    ends = time.monotonic() + GREP_SECONDS
    most = min(desk.max_bytes, GREP_BYTES)
    # in a thread, since it may take its whole time, and the other sessions of this process go on
    matches = await asyncio.to_thread(search, found.text, start, pattern, most, lambda: time.monotonic() > ends)
    said: dict[str, object] = {
        "matches": [found.framed(line) for line in matches.lines],
        "total_lines": line_count(found.text),
        "next_cursor": found.next_cursor(matches.end),
    }
    return found.says(desk, said, note, NOT_ALL if matches.end < len(found.text) else "")


async def _readable(store: reads.Store, cid: str) -> _Readable | None:
    """A completed call has its result; any other one what it has printed, and once it has ended how it did."""
    output = await _output(store, cid)  # before the record: with the end of a call it may go
    row = await call_row(store, cid)
    if row is None:
        return None
    if row.state is CallState.COMPLETED and row.outcome:
        return _Readable(row, whole_text(row.outcome))
    is_full = await reads.field(store, keys.call(cid), "output_full") is not None
    if row.outcome is None:
        return _Readable(row, output, KEPT_AT_THE_END if is_full else "")
    output = await _output(store, cid)
    # a secret that was cut out of it may have taken its last newline along
    parted = "" if output.endswith("\n") or not output else "\n"
    return _Readable(row, "".join([output, parted, NOT_KEPT if is_full else "", whole_text(row.outcome)]))


async def _output(store: reads.Store, cid: str) -> str:
    return (await reads.texts(store, keys.output(cid)))[0] or ""
