"""Where the defaults of parameters come from: variables, files, commands. Values never stand in an error.

Only a process that was given the agent file itself reads them: what an agent file in the store names is not touched.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from errands_config.agent_file.bindings import FromCommand, FromEnvironment, FromFile

Source: TypeAlias = FromEnvironment | FromFile | FromCommand
COMMAND_SECONDS = 30.0
"""Longest run of a command that prints a value."""
MOST_BYTES = 65_536
"""Largest value."""


@dataclass(frozen=True, slots=True)
class Unread:
    """There is no value. `why` names the source and tells nothing of what was in it."""

    why: str


def read_source(source: Source, folder: Path, *, seconds: float = COMMAND_SECONDS) -> str | Unread:
    """The text of a source without the newlines at its end. `folder` is where the agent file lies.

    A path is looked up in `folder`, then in the working folder, a command is run in `folder` without a shell.
    """
    match source:
        case FromEnvironment(contents=name):
            value = os.environ.get(name)
            return Unread(f"the variable {name} is not set") if value is None else _value(os.fsencode(value), name)
        case FromFile(contents=path):
            return _from_file(path, folder)
        case FromCommand(contents=command):
            return _from_command(command, folder, seconds)


def flaw_of_value(text: str) -> str:
    """Why a text can be no value; empty if it can."""
    if "\0" in text:
        return "it holds a NUL character"
    if any("\ud800" <= character <= "\udfff" for character in text):
        return "it is no Unicode text"
    return "" if len(text.encode()) <= MOST_BYTES else f"it is larger than {MOST_BYTES} bytes"


def _value(read: bytes, origin: str) -> str | Unread:
    try:
        text = read.decode().rstrip("\r\n")
    except UnicodeDecodeError:
        return Unread(f"{origin}: it is no UTF-8 text")
    flaw = flaw_of_value(text)
    return Unread(f"{origin}: {flaw}") if flaw else text


def _from_file(path: str, folder: Path) -> str | Unread:
    wanted = Path(path).expanduser()
    places = list(dict.fromkeys((folder / wanted, Path.cwd() / wanted)))
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        return Unread(f"no file {path}; looked at {' and '.join(map(str, places))}")
    try:
        with found.open("rb") as file:
            return _value(file.read(MOST_BYTES + 1024), str(found))
    except OSError as unreadable:
        return Unread(f"{found}: {unreadable.strerror}")


def _from_command(command: str, folder: Path, seconds: float) -> str | Unread:
    """Its first word alone is named: the others may be confidential."""
    try:
        words = shlex.split(command)
    except ValueError as broken:
        return Unread(f"the command cannot be read: {broken}")
    if not words:
        return Unread("the command is empty")
    try:
        process = subprocess.Popen(
            words, cwd=folder, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, ValueError) as unable:
        return Unread(f"{words[0]} cannot be run: {_reason(unable)}")
    return _printed(process, words[0], seconds)


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror or type(error).__name__) if isinstance(error, OSError) else "it is no command"


def _printed(process: subprocess.Popen[bytes], name: str, seconds: float) -> str | Unread:
    with process:
        try:
            read, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            return Unread(f"{name} did not end within {seconds:g} s")
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    if process.returncode:
        return Unread(f"{name} ended with exit code {process.returncode}")
    return _value(read, name)
