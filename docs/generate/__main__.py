"""`python -m docs.generate`: writes every page of the reference anew."""

from __future__ import annotations

from docs.generate.pages import FOLDER, PAGES


def main() -> None:
    """Write the pages."""
    FOLDER.mkdir(exist_ok=True)
    for name, made in PAGES.items():
        (FOLDER / name).write_text(made())


main()
