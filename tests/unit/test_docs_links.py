"""What the documentation points at exists: files, headings, commands and their options."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from cyclopts import CycloptsError
from docs.generate.command_line import arguments_of, commands
from docs.generate.markdown import anchor

from errands_orchestrator.cli.root import root

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path
    for path in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md"))
    if path.is_file()
)
LINK = re.compile(r"\]\(([^)\s]+)\)")
INLINE = re.compile(r"`((?:\w+=\S+ )*errands [a-z][^`]*)`")
PROMPT = re.compile(r"^ +\$ (.+)$", re.MULTILINE)
CALLED = re.compile(r"(?:^|[(&;|] ?|\w=\S+ )(errands(?: [^;|&>#()]+)?)")
AT_THE_TOP = {"--help", "-h", "--version"}


def ids(path: Path) -> str:
    return str(path.relative_to(ROOT))


def headings(page: Path) -> set[str]:
    return {anchor(line.lstrip("# ")) for line in page.read_text().splitlines() if line.startswith("#")}


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_every_link_inside_the_repository_leads_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text()):
        if "://" in target:
            continue
        path, _, part = target.partition("#")
        led_to = (page.parent / path).resolve() if path else page
        assert led_to.exists(), target
        assert led_to.is_relative_to(ROOT), target
        assert not part or f"#{part}" in headings(led_to), target


def test_every_page_of_the_documentation_is_linked_from_its_contents_or_the_readme() -> None:
    linked = {
        (page.parent / target.partition("#")[0]).resolve()
        for page in (ROOT / "README.md", ROOT / "docs/README.md")
        for target in LINK.findall(page.read_text())
    }
    pages = {path for path in (ROOT / "docs").rglob("*.md") if "decisions" not in path.parts}

    assert pages - linked <= {ROOT / "docs/README.md"}
    assert ROOT / "docs/README.md" in linked


COMMANDS = dict(commands())


def words_of(command: str) -> list[str]:
    """What stands before an option of another program, as the shell would read it."""
    return shlex.split(command.replace("…", ""), comments=True)


def typed(page: Path) -> Iterator[str]:
    for line in PROMPT.findall(page.read_text()):
        yield from CALLED.findall(line)


def mentioned(page: Path) -> Iterator[str]:
    for span in INLINE.findall(page.read_text()):
        yield from CALLED.findall(span)


def checked(command: str) -> None:
    """Fail if the command or one of its options does not exist."""
    words = words_of(command)
    path = ("errands",)
    while len(path) < len(words) and (*path, words[len(path)]) in COMMANDS:
        path = (*path, words[len(path)])
    if path == ("errands",):
        assert words[1] in AT_THE_TOP | set(root), command
        return
    arguments = arguments_of(COMMANDS[path])
    known = {name for argument in arguments for name in argument.names} | AT_THE_TOP
    rest = words[len(path) :]
    before_dashes = rest[: rest.index("--")] if "--" in rest else rest
    options = [word.partition("=")[0] for word in before_dashes if re.match(r"--?[a-z]", word)]
    assert set(options) <= known, command
    takes = any(not name.startswith("-") for argument in arguments for name in argument.names)
    assert takes or not rest or rest[0].startswith("-"), command


def understood(command: str) -> None:
    """Fail if the command line would refuse this, before it does anything."""
    checked(command)
    root.parse_args(words_of(command)[1:], exit_on_error=False, print_error=False)


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_every_command_that_a_page_shows_exists_with_its_options(page: Path) -> None:
    for command in (*typed(page), *mentioned(page)):
        checked(command)


def test_the_pages_show_many_commands() -> None:
    assert sum(len([*typed(page), *mentioned(page)]) for page in PAGES) > 60


@pytest.mark.parametrize("page", [page for page in PAGES if "reference" not in page.parts], ids=ids)
def test_what_a_page_shows_at_a_prompt_is_understood_by_the_command_line(page: Path) -> None:
    for command in typed(page):
        understood(command)


@pytest.mark.parametrize(
    "command",
    ["errands fly", "errands run --fast", "errands session print", "errands calls ls --until 3", "errands doctor now"],
)
def test_a_command_that_does_not_exist_would_be_seen(command: str) -> None:
    with pytest.raises((AssertionError, CycloptsError)):
        understood(command)
