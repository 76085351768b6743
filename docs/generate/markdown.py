"""The little Markdown that the reference pages are made of. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

NOTE = "<!-- Made from the code by `make docs`; a test compares. Change the code, not this page. -->"


def page(title: str, *parts: str) -> str:
    """A whole page: the note that it is made, its title, and its parts; empty parts are left out."""
    return "\n\n".join(part.strip("\n") for part in (NOTE, f"# {title}", *parts) if part.strip()) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; empty text if it has no rows."""
    lines = [_line(row) for row in rows]
    return "\n".join((_line(head), _line(["---"] * len(head)), *lines)) if lines else ""


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|').replace(chr(10), ' ') for cell in cells)} |"


def code(text: str) -> str:
    """Text as it is written in a file or at a prompt."""
    return f"`{text}`"


def codes(words: Iterable[str]) -> str:
    """Several of them."""
    return ", ".join(map(code, words))


def anchor(heading: str) -> str:
    """The link to a heading of the same page, as code hosts make it."""
    kept = "".join(letter for letter in heading.lower() if letter.isalnum() or letter in " -_")
    return f"#{kept.replace(' ', '-')}"


def unwrapped(text: str) -> str:
    """Docstring text as paragraphs without line ends of their own."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n"))
