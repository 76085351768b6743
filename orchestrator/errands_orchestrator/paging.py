"""A long text piece by piece: how far a page reaches, what a cursor is, and which ends of it stand for the whole. Pure.

A position counts characters. A piece ends with a line where it can, so only a line that is longer than a page is cut.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass

from errands_config.text import head, tail

_CURSOR = re.compile(r"(\d{1,10})-([0-9a-f]{8})")


class NotACursor(ValueError):
    """A text that no answer gave as a cursor."""


def page_end(text: str, start: int, max_bytes: int) -> int:
    """Where the page ends that begins at `start`. It has at least one character of what is there."""
    end = min(start + max(1, len(head(text[start : start + max_bytes], max_bytes))), len(text))
    line_end = text.rfind("\n", start, end) + 1
    return line_end if line_end and end < len(text) else end


def cursor_at(text: str, position: int) -> str:
    """What a reader gives back to read on from here: the position, and a fingerprint of all that it has passed."""
    return f"{position}-{_fingerprint(text, position)}"


def place_of(cursor: str, text: str) -> int | None:
    """The position of a cursor in a text that may have grown since; None if what it has passed is not there any more.

    A text that has lost its last newline is still the same. Raises NotACursor.
    """
    found = _CURSOR.fullmatch(cursor)
    if found is None:
        raise NotACursor(cursor)
    position = int(found[1])
    if position == len(text) + 1:
        return len(text) if found[2] == _fingerprint(f"{text}\n", position) else None
    return position if position <= len(text) and found[2] == _fingerprint(text, position) else None


def _fingerprint(text: str, position: int) -> str:
    return f"{zlib.crc32(text[:position].encode()):08x}"


def line_at(text: str, position: int) -> int:
    """The number of the line that stands there, from 1."""
    return text.count("\n", 0, position) + 1


def line_count(text: str) -> int:
    """How many lines there are; the last one needs no newline."""
    return text.count("\n") + bool(text and not text.endswith("\n"))


@dataclass(frozen=True, slots=True)
class Ends:
    """Both ends of a text: up to where its head reaches, and where its tail begins."""

    head: int
    tail: int


def ends_of(text: str, max_bytes: int) -> Ends:
    """The ends of a text of more than `max_bytes`; together they are never larger than that."""
    first = page_end(text, 0, max_bytes - max_bytes // 2)
    last = max(first, len(text) - len(tail(text, max_bytes // 2)))
    line = text.find("\n", last - 1, len(text) - 1) + 1 if last else 0
    return Ends(first, line or last)
