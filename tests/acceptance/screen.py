"""A terminal at which a test sits: it types a command, presses keys and reads the screen. tmux does the rest."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Generator, Mapping
from pathlib import Path

import pytest
from tests.acceptance.person import COMMAND, Person
from tests.waiting import eventually

COLUMNS, ROWS = 160, 50
_NOTING_ITS_END = ("sh", "-c", 'trap : INT; echo "$ errands"; "$@"; echo $? > "$0"; read _')
"""Runs a command, writes its exit code into a file (of which tmux itself sometimes knows nothing), and stays.

As in a shell a line stands above what the command prints: tmux keeps for later what clears a whole screen.
"""
_CONFIGURATION = "set -g history-limit 10000\nset -g default-terminal screen-256color\n"


class Screen:
    """One terminal with one command on it. What has scrolled out of sight can still be read."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._socket = folder / "tmux"
        self._end = folder / "end"
        self._configuration = folder / "tmux.conf"
        self._configuration.write_text(_CONFIGURATION)
        self._environment = {**environment, "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}

    def _tmux(self, *words: str, cwd: Path | None = None) -> str:
        command = ["tmux", "-u", "-S", str(self._socket), "-f", str(self._configuration), *words]
        done = subprocess.run(command, cwd=cwd, env=self._environment, capture_output=True, text=True, timeout=20)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def begins(self, folder: Path, *words: str) -> None:
        """Type a command in a folder."""
        command = (*_NOTING_ITS_END, str(self._end), *COMMAND, *words)
        self._tmux("new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS), "--", *command, cwd=folder)

    def types(self, text: str) -> None:
        """Type a line and Enter."""
        self._tmux("send-keys", "-l", "--", text, ";", "send-keys", "Enter")

    def half_types(self, text: str) -> None:
        """Type without Enter."""
        self._tmux("send-keys", "-l", "--", text)

    def presses(self, *keys: str) -> None:
        """Press keys: `C-c`, `Enter`."""
        self._tmux("send-keys", *keys)

    @property
    def text(self) -> str:
        """All that stands there, lines without blanks at their ends."""
        return self._tmux("capture-pane", "-p", "-J", "-S", "-")

    @property
    def lines(self) -> list[str]:
        """The same, line by line."""
        return [line.rstrip() for line in self.text.splitlines() if line.strip()]

    def shows(self, text: str, within: float = 30) -> None:
        """Wait until this stands there."""
        eventually(lambda: text in self.text, within=within, saying=f"{text!r} is shown; shown is:\n{self.text}")

    def shows_line(self, line: str, within: float = 30) -> None:
        """Wait until a line stands there whole."""
        eventually(
            lambda: line in self.lines, within=within, saying=f"the line {line!r} is shown; shown is:\n{self.text}"
        )

    def done(self, within: float = 30) -> int:
        """Wait until the command has ended; answers its exit code."""
        ended = lambda: self._end.exists() and self._end.read_text().strip()  # noqa: E731
        return int(eventually(ended, within=within, saying=f"the command ends; shown is:\n{self.text}"))

    def close(self) -> None:
        """End the command, if it goes on, and the terminal."""
        with contextlib.suppress(AssertionError):  # tmux ends by itself once nothing runs on it
            os.killpg(int(self._tmux("display-message", "-p", "#{pane_pid}")), signal.SIGKILL)
            self._tmux("kill-server")


@contextlib.contextmanager
def screen(person: Person, *words: str) -> Generator[Screen]:
    """A terminal on which a person has typed a command; it is gone afterwards, whatever happens."""
    if shutil.which("tmux") is None:
        pytest.fail("tmux is not installed, and this test needs a terminal to type at: install tmux")
    # a socket's path must be short
    with tempfile.TemporaryDirectory(prefix="errands-screen-") as folder:
        shown = Screen(Path(folder), person.environment)
        try:
            shown.begins(person.folder, *words)
            yield shown
        finally:
            shown.close()
