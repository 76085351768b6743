"""A README read by somebody who types its commands in their order and looks whether they print what it shows.

Ids, tokens, process ids and times are others every time: those that a page shows stand for those that were met, also in
later commands. A shown line with `…` has something left out there; further lines may come between the shown ones.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.acceptance.person import COMMAND, Person
from tests.waiting import eventually

_INDENT = "    "
_PROMPT = f"{_INDENT}$ "
_BACKGROUND = ".background-"
_NAMES = re.compile(
    r"ect_[0-9a-f]{32}_\d+_[\w-]{43}"
    r"|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|http://127\.0\.0\.1:\d+"
    r"|(?<=process )\d+"
)
"""What stands for something else, the same everywhere."""
_PASSING = re.compile(r"…|\d{4}-\d\d-\d\dT[\d:.]+Z|(?<=redacted )[0-9a-f]{16}|\bA-[0-9a-f]{8}\b| {2,}|-{2,}")
"""What is not compared: what was left out, times, fingerprints, numbers made from ids, widths of columns."""
_LOOKS = ("cat ", "errands session pending", "errands session list", "errands session print", "errands calls ls")
"""Commands that change nothing: typed again until they show it."""


@dataclass(frozen=True, slots=True)
class Step:
    """A command, and the lines that a page shows below it."""

    command: str
    lines: tuple[str, ...]


def steps_of(page: Path) -> Iterator[Step]:
    """The commands of a page."""
    command, lines = "", list[str]()
    for line in [*page.read_text().splitlines(), "the end"]:
        if command and (line.startswith(_PROMPT) or (line and not line.startswith(_INDENT))):
            yield Step(command, tuple(lines))
            command, lines = "", []
        if line.startswith(_PROMPT):
            command = line.removeprefix(_PROMPT)
        elif command and line.strip():
            lines.append(line.removeprefix(_INDENT))


@dataclass
class Reader:
    """Somebody in a copy of an example's folder. Made by `reading`."""

    person: Person
    met: dict[str, str] = field(default_factory=dict[str, str])
    """From the names that the page shows to those that were met."""
    code: int = 0
    """How the last command ended, for `echo $?`."""
    _background: list[subprocess.Popen[bytes]] = field(default_factory=list[subprocess.Popen[bytes]])

    def plays(self, page: str = "README.md") -> None:
        """Type every command of a page. Raises AssertionError at the first that prints something else."""
        for step in steps_of(self.person.folder / page):
            self.types(step)

    def types(self, step: Step) -> None:
        """Type one command."""
        command = self._as_met(step.command.partition("  #")[0].strip())
        if command.endswith("&"):
            printed = self._begun(command.removesuffix("&"))
            eventually(lambda: not self._missing(step, printed.read_text()), within=30, saying=f"{command} shows it")
        elif command.startswith(_LOOKS):
            eventually(lambda: not self._missing(step, self.prints(command)), within=30, saying=f"{command} shows it")
        else:
            out = self.prints(command)
            missing = self._missing(step, out)
            assert not missing, f"$ {command}\n{missing}\nis not in its turn among:\n{out}"

    def prints(self, command: str) -> str:
        """What a command prints, on stdout and stderr."""
        out = self.person.folder / ".printed"
        process = self._started(f"(exit {self.code}); {command}", out)
        self.code = process.wait(60)
        return out.read_text()

    @property
    def log(self) -> str:
        """What was printed so far in the background."""
        return "".join(file.read_text() for file in sorted(self.person.folder.glob(f"{_BACKGROUND}*")))

    def leaves(self) -> None:
        """What runs in the background ends."""
        for process in self._background:
            os.killpg(process.pid, signal.SIGTERM)
        for process in self._background:
            process.wait(30)

    # ---- within

    def _begun(self, command: str) -> Path:
        out = self.person.folder / f"{_BACKGROUND}{len(self._background)}"
        self._background.append(self._started(f"exec {command}", out))
        return out

    def _started(self, command: str, out: Path) -> subprocess.Popen[bytes]:
        with out.open("wb") as file:
            return subprocess.Popen(
                ["sh", "-c", command],
                cwd=self.person.folder,
                env=self.person.environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _as_met(self, command: str) -> str:
        for shown in sorted(self.met, key=len, reverse=True):
            command = command.replace(shown, self.met[shown])
        return command

    def _missing(self, step: Step, printed: str) -> str:
        """The first shown line that does not come in its turn; empty if all do, and then their names are known."""
        met, rest = dict(self.met), iter(printed.splitlines())
        for line in step.lines:
            if line.strip() != "…" and not any(_fits(line, one, met) for one in rest):
                return line
        self.met = met
        return ""


@contextmanager
def reading(person: Person, example: Path, **variables: str) -> Generator[Reader]:
    """Somebody who has copied an example, and for whom `errands` and `python` are those of this test run."""
    shutil.copytree(example, person.folder, dirs_exist_ok=True)
    programs = person.folder / ".programs"
    programs.mkdir()
    _program(programs / "errands", COMMAND)
    _program(programs / "python", (sys.executable,))
    path = f"{programs}{os.pathsep}{person.environment['PATH']}"
    reader = Reader(person.having(PATH=path, ERRANDS_HOME=".errands", **variables))
    try:
        yield reader
    finally:
        reader.leaves()


def _fits(shown: str, printed: str, met: dict[str, str]) -> bool:
    """Whether a printed line is what a shown one stands for; then its names go to those that were met."""
    names = _NAMES.findall(shown)
    found = re.fullmatch(_pattern(shown), printed.rstrip())
    if not found or any(met.get(name, real) != real for name, real in zip(names, found.groups(), strict=True)):
        return False
    met.update(zip(names, found.groups(), strict=True))
    return True


def _pattern(shown: str) -> str:
    """A pattern for what the line may be this time, with a group for each name."""
    names = [f"({_NAMES.pattern})"] * len(_NAMES.findall(shown))
    parts = [".*".join(re.escape(piece) for piece in _PASSING.split(part)) for part in _NAMES.split(shown)]
    return "".join(part + name for part, name in zip(parts, [*names, ""], strict=True))


def _program(path: Path, words: Sequence[str]) -> None:
    quoted = " ".join(f"'{word}'" for word in words)
    path.write_text(f'#!/bin/sh\nexec {quoted} "$@"\n')
    path.chmod(0o755)
