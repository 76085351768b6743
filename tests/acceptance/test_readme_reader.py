"""Whoever reads the examples' READMEs notices what does not come true in them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.acceptance.person import Person
from tests.acceptance.readme import reading

SOME_ID, OTHER_ID = "01a22f96-1a31-7558-be92-cab7a030837f", "01a22f96-32d8-7492-ac79-25786da0a5d9"
MET = "01a22f99-b7ab-7bbf-a9f4-b802897a9b25"


def read(person: Person, example: Path, page: str) -> None:
    example.mkdir()
    (example / "README.md").write_text(page)
    (example / "id").write_text(f"call {MET} at 2026-11-30T22:43:27.804Z\nand more\n")
    with reading(person, example) as reader:
        reader.plays()


@pytest.mark.parametrize(
    "page",
    [
        f"    $ echo $(cat id)\n    call {SOME_ID} at 2020-01-01T00:00:00Z and more",
        f"    $ echo $(cat id)\n    …\n    call {SOME_ID} …\n\nThat is:\n\n    $ echo {SOME_ID}\n    {SOME_ID}",
        f"    $ echo {SOME_ID} | sed s/^/x/\n    x{SOME_ID}",
        "    $ false\n    $ echo $?\n    1",
        "    $ sleep 60 &\n    $ echo next  # a remark\n    next",
        "    $ printf 'one\\n\\nbetween\\ntwo\\n'\n    one\n\n    two",
    ],
)
def test_a_page_comes_true_with_other_ids_and_times(person: Person, tmp_path: Path, page: str) -> None:
    read(person, tmp_path / "example", page)


@pytest.mark.parametrize(
    "page",
    [
        "    $ echo one\n    two",
        "    $ printf 'one\\ntwo\\n'\n    two\n    one",
        "    $ true\n    $ echo $?\n    1",
        f"    $ echo $(cat id)\n    call {SOME_ID} …\n    $ echo {OTHER_ID}\n    {SOME_ID}",
        f"    $ echo no id\n    {SOME_ID}",
        "    $ python -c 'raise SystemExit(3)'\n    $ echo $?\n    0",
    ],
)
def test_a_page_that_shows_something_else_is_found_out(person: Person, tmp_path: Path, page: str) -> None:
    with pytest.raises(AssertionError, match="is not in its turn"):
        read(person, tmp_path / "example", page)
