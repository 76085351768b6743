"""The parts of docs/performance.md that a run writes anew. Each stands between two comments that name it."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs/performance.md"


def renew(part: str, text: str) -> None:
    """Put a text in the place of what stands there. Raises ValueError if the page has no such part."""
    page = PAGE.read_text()
    begin, end = f"<!-- measured: {part} -->\n", f"<!-- end of {part} -->"
    before, found, rest = page.partition(begin)
    _, ended, after = rest.partition(end)
    if not (found and ended):
        raise ValueError(f"{PAGE} has no part between {begin.strip()!r} and {end!r}")
    PAGE.write_text(f"{before}{begin}\n{text.strip()}\n\n{end}{after}")
