"""The text of an answer as it comes, for whoever listens."""

from __future__ import annotations

from collections.abc import Callable


def encodable(text: str) -> str:
    """Join surrogate pairs that were split, and replace lone surrogates, so that the text can be encoded as UTF-8."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class Heard:
    """Collects text. `on_text` hears every piece of it."""

    def __init__(self, on_text: Callable[[str], None] | None = None) -> None:
        self._on_text = on_text
        self._pieces: list[str] = []
        self._half = ""

    @property
    def text(self) -> str:
        """All of it so far."""
        return "".join(self._pieces)

    def add(self, piece: str) -> None:
        """Take in text, but for the first half of a character whose second half comes with the next piece."""
        piece, self._half = self._half + piece, ""
        if piece and "\ud800" <= piece[-1] <= "\udbff":
            piece, self._half = piece[:-1], piece[-1]
        if piece:
            self._pieces.append(encodable(piece))
            if self._on_text:
                self._on_text(self._pieces[-1])
