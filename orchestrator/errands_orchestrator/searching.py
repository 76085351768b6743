"""The lines of a text that match a regular expression of the model's: bounded in time, memory and size of the answer.

RE2 takes time linear in the text for every expression; how much of it depends on the size of the expression.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, cast

from errands_orchestrator.paging import line_at

LONGEST_SHOWN = 500
"""Characters of a matching line that are answered."""
_BEFORE_MATCH = 100
_PIECE = 65_536
"""Characters of a longer line that are searched at a time."""
_OVERLAP = 1_000
"""Characters that such a piece has in common with the one before it: no shorter match is missed."""
_LARGEST_PROGRAM = 4_000
"""Of a worse one a piece could take longer than the whole search may."""
_MEMORY = 1 << 20


class BadPattern(ValueError):
    """A regular expression that cannot be used; the text says why."""


class _Match(Protocol):
    def start(self) -> int: ...


class Pattern(Protocol):
    """A compiled expression."""

    def search(self, text: str, pos: int, endpos: int, /) -> _Match | None:
        """The first place between two positions that it matches; `^` and `$` mean the ends of the text."""
        ...


def compiled(expression: str) -> Pattern:
    """An expression, ready to be used. Raises BadPattern."""
    import re2  # imported here: only an orchestrator whose model searches needs it

    options = cast("Any", re2.Options())
    options.log_errors, options.max_mem = False, _MEMORY
    try:
        made = cast("Any", re2.compile(expression, options))
    except re2.error as wrong:
        why = cast("bytes", wrong.args[0]).decode(errors="replace")
        raise BadPattern(f"{why}; RE2 syntax is expected, without look-around and back-references") from None
    finally:
        cast("Any", re2).purge()  # it would keep each one and what it has learned
    if made.programsize > _LARGEST_PROGRAM:
        raise BadPattern("it is too large: use a shorter one, or fewer repetitions")
    return made


@dataclass(frozen=True, slots=True)
class Matches:
    """Matching lines with their numbers, `12: text`, and the position in the text up to which it was searched."""

    lines: tuple[str, ...]
    end: int


def search(text: str, start: int, pattern: Pattern, max_bytes: int, is_over: Callable[[], bool]) -> Matches:
    """Search line by line from a position on, until the end, the size of the answer, or the end of the time.

    At least one line, or one piece of a very long one, is searched, and at least one match is answered if there is one.
    """
    lines: list[str] = []
    at = begin = start
    number, room = line_at(text, start), max_bytes
    while at < len(text) and (at == start or not is_over()):
        line_end = _line_end(text, at)
        end = min(line_end, at + _PIECE)
        # a character on each side, so that a piece of a line is not taken for all of it
        before, behind = at > begin, end < line_end
        match = pattern.search(text[at - before : end + behind], before, end - at + before)
        if match:
            lines.append(f"{number}: {_shown(text[begin:line_end], at - before + match.start() - begin, max_bytes)}")
            room -= len(lines[-1].encode())
            if room < 0 and len(lines) > 1:
                return Matches(tuple(lines[:-1]), begin)
        if match or end == line_end:
            at = begin = line_end + 1
            number += 1
        else:
            at = end - _OVERLAP
    return Matches(tuple(lines), min(at, len(text)))


def _line_end(text: str, at: int) -> int:
    newline = text.find("\n", at)
    return len(text) if newline < 0 else newline


def _shown(line: str, place: int, max_bytes: int) -> str:
    """A line; of a long one what stands around the match."""
    longest = min(LONGEST_SHOWN, max_bytes)
    if len(line) <= longest:
        return line
    first = max(0, min(place - _BEFORE_MATCH, len(line) - longest))
    last = first + longest
    return f"{'…' if first else ''}{line[first:last]}{'…' if last < len(line) else ''}"
