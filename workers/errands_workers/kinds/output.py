"""What a script prints, kept in bounded memory: both ends of the whole, and what the last line was."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Literal

from errands_config.text import decode

NOTIFY = b"::notify::"
"""How a line on stderr begins that the model shall hear of."""

_MOST_OF_A_LINE = 4_096
_MARK_BYTES = 200

StreamName = Literal["stdout", "stderr"]


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
        head = _head(decode(bytes(self._head)).text, max(0, self._head_room - _MARK_BYTES))
        mark = f"[truncated: result exceeded {self._max} bytes; its middle is left out]"
        return f"{head}\n{mark}\n{self.tail(self._tail_room)}"

    def whole(self) -> bytes | None:
        """Every byte as it came; None if there were too many."""
        return None if self._dropped else bytes(self._head) + b"".join(self._tail)

    def tail(self, max_bytes: int) -> str:
        """The clean end of it, at most so many bytes."""
        kept = b"".join(self._tail)
        if not self._dropped and len(kept) < max_bytes:
            kept = bytes(self._head) + kept
        return _tail(decode(kept[-max_bytes:]).text, max_bytes)


def _head(text: str, max_bytes: int) -> str:
    return text.encode()[:max_bytes].decode(errors="ignore")


def _tail(text: str, max_bytes: int) -> str:
    return text.encode()[-max_bytes:].decode(errors="ignore") if max_bytes else ""


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
