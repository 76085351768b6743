"""What a script prints, kept in bounded memory: both ends of the whole, and what the last line was."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Literal

from errands_config.text import decode, head, tail

NOTIFY = b"::notify::"
"""How a line on stderr begins that the model shall hear of."""

_MOST_OF_A_LINE = 4_096
_MARK_BYTES = 200

StreamName = Literal["stdout", "stderr"]


def head_bytes(max_bytes: int) -> int:
    """How much of the beginning is kept of a stream that is too large. What is shown of it meanwhile is no more, so
    that it is the beginning of what is kept in the end."""
    return max(0, max_bytes - max_bytes // 2 - _MARK_BYTES)


class Ends:
    """The first and the last bytes of a stream, together little more than `max_bytes`."""

    def __init__(self, max_bytes: int) -> None:
        self._max = max_bytes
        self._head_room = max_bytes - max_bytes // 2
        self._tail_room = max_bytes // 2
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self._dropped = False

    def add(self, data: bytes) -> None:
        """Take the next bytes; the middle is forgotten as soon as the whole is too large."""
        room = self._head_room - len(self._head)
        self._head += data[:room]
        if rest := data[room:]:
            self._tail.append(rest)
            self._tail_bytes += len(rest)
        while self._tail and self._tail_bytes - len(self._tail[0]) >= self._tail_room:
            self._tail_bytes -= len(self._tail.popleft())
            self._dropped = True

    def text(self) -> str:
        """The clean text: whole, or its ends with a line between them that says what is left out."""
        if not self._dropped:
            return decode(bytes(self._head) + b"".join(self._tail)).text
        mark = f"[truncated: result exceeded {self._max} bytes; its middle is left out]"
        return f"{head(decode(bytes(self._head)).text, head_bytes(self._max))}\n{mark}\n{self.tail(self._tail_room)}"

    def whole(self) -> bytes | None:
        """Every byte as it came; None if there were too many."""
        return None if self._dropped else bytes(self._head) + b"".join(self._tail)

    def tail(self, max_bytes: int) -> str:
        """The clean end of it, at most so many bytes."""
        kept = b"".join(self._tail)
        if not self._dropped and len(kept) < max_bytes:
            kept = bytes(self._head) + kept
        return tail(decode(kept[-max_bytes:]).text, max_bytes)


class WholeLines:
    """Cuts a stream at its line ends, so that no line of it is passed on in halves."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._open = bytearray()

    def add(self, data: bytes) -> str:
        """Take the next bytes: the lines that are complete with them, clean. A line of more than `longest` bytes is
        not waited for."""
        lines, newline, begun = data.rpartition(b"\n")
        whole = bytes(self._open) + lines + newline if newline else b""
        if newline:
            self._open.clear()
        self._open += begun
        return decode(whole + self._taken() if len(self._open) > self._longest else whole).text

    def finish(self) -> str:
        """The last line, which nothing ended."""
        return decode(self._taken() + b"\n").text if self._open else ""

    def _taken(self) -> bytes:
        taken = bytes(self._open)
        self._open.clear()
        return taken


class Lines:
    """Counts the lines of a stream and knows the last one; `\\r` ends one as well, without being counted."""

    def __init__(self, stream: StreamName) -> None:
        self.stream: StreamName = stream
        self.count = 0
        self.bytes = 0
        self._last = b""
        self._open = bytearray()

    @property
    def last(self) -> str:
        """The last complete line that was neither blank nor a notify, clean; of a long one the beginning."""
        return decode(self._last).text.strip()

    def add(self, data: bytes) -> Iterator[str]:
        """Take the next bytes and yield the text of every notify that they complete."""
        self.bytes += len(data)
        self.count += data.count(b"\n")
        first, *others = data.replace(b"\r", b"\n").split(b"\n")
        self._extend(first)
        if others:
            yield from self._take([bytes(self._open), *others[:-1]])
            self._open.clear()
            self._extend(others[-1])

    def finish(self) -> Iterator[str]:
        """Yield the notify in a last line that no newline ends."""
        yield from self._take([bytes(self._open)])
        self._open.clear()

    def _take(self, lines: list[bytes]) -> Iterator[str]:
        plain = (line for line in reversed(lines) if line.strip() and not self._is_notify(line))
        self._last = next(plain, self._last)[:_MOST_OF_A_LINE]
        for line in lines if self.stream == "stderr" else ():
            if self._is_notify(line):
                yield decode(line[len(NOTIFY) : _MOST_OF_A_LINE]).text.strip()

    def _is_notify(self, line: bytes) -> bool:
        return self.stream == "stderr" and line.startswith(NOTIFY)

    def _extend(self, piece: bytes) -> None:
        self._open += piece[: max(0, _MOST_OF_A_LINE - len(self._open))]
