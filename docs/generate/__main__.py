"""`python -m docs.generate`: writes every page of the reference anew, and the worked conversations."""

from __future__ import annotations

from docs.generate import conversations
from docs.generate.pages import FOLDER, PAGES


def main() -> None:
    """Write the pages."""
    FOLDER.mkdir(exist_ok=True)
    for name, made in PAGES.items():
        (FOLDER / name).write_text(made())
    conversations.PAGE.write_text(conversations.page())


main()
