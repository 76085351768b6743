"""The store's protocol (RESP2) without any I/O: commands to bytes, bytes to answers."""

from __future__ import annotations

from typing import TypeAlias

from redis.asyncio.connection import DefaultParser
from redis.exceptions import DataError, InvalidResponse

Part: TypeAlias = str | bytes | int | float
"""What a command is made of."""
Answer: TypeAlias = "str | int | Exception | list[Answer] | None"
"""What comes back. A refusal is the library's exception for it, not raised."""


def packed(name: str, *parts: Part) -> bytes:
    """A command as it is sent. A name of two words (`CLIENT LIST`), as the library has some, is two parts.

    Raises redis.DataError for what is no part of a command.
    """
    command = (*name.split(), *parts)
    pieces = [b"*%d\r\n" % len(command)]
    for part in command:
        text = part.encode() if isinstance(part, str) else _encoded(part)
        pieces.append(b"$%d\r\n%b\r\n" % (len(text), text))
    return b"".join(pieces)


def _encoded(part: object) -> bytes:
    if isinstance(part, bytes):
        return part
    if isinstance(part, bool) or not isinstance(part, int | float):
        raise DataError(f"no part of a command: {type(part).__name__}")
    return repr(part).encode()


class Answers:
    """Reads answers from whatever pieces they come in."""

    def __init__(self) -> None:
        self._unread: list[bytes] = []
        self._missing = 0
        """Bytes that a long text still lacks. Its pieces are put together once, when the last one is here."""
        self._open: list[tuple[list[Answer], int]] = []
        """Arrays that are not whole yet, with their lengths, the innermost last."""

    def feed(self, data: bytes) -> list[Answer]:
        """The answers that are whole now. Raises redis.InvalidResponse for what is none."""
        self._unread.append(data)
        self._missing -= len(data)
        return [] if self._missing > 0 else self._read(b"".join(self._unread))

    def _read(self, text: bytes) -> list[Answer]:
        whole: list[Answer] = []
        at = self._missing = 0
        while (end := text.find(b"\r\n", at)) >= 0:
            kind, length = text[at : at + 1], text[at + 1 : end]
            start = end + 2
            if kind == b"$" and length != b"-1":
                end = start + int(length)
                if len(text) < end + 2:
                    self._missing = end + 2 - len(text)
                    break
                at = end + 2
                self._take(text[start:end].decode(), whole)
            elif kind == b"*" and length not in (b"0", b"-1"):
                at = start
                self._open.append(([], int(length)))
            else:
                at = start
                self._take(_short(kind, length), whole)
        self._unread = [text[at:]]
        return whole

    def _take(self, answer: Answer, whole: list[Answer]) -> None:
        """Put an answer into the innermost array, and that, if it is whole now, into the one around it."""
        while self._open:
            answers, length = self._open[-1]
            answers.append(answer)
            if len(answers) < length:
                return
            self._open.pop()
            answer = answers
        whole.append(answer)


def _short(kind: bytes, text: bytes) -> Answer:
    match kind:
        case b":":
            return int(text)
        case b"+":
            return text.decode()
        case b"-":
            return DefaultParser.parse_error(text.decode())
        case b"$":
            return None
        case b"*":
            return [] if text == b"0" else None
        case _:
            raise InvalidResponse(f"not an answer: {kind!r}")
