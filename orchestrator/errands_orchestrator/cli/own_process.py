"""A process that a command of ours starts: Ctrl-C does not reach it, and it goes when the command is killed."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

from errands_config.store import store_url
from errands_orchestrator.cli.connecting import Reached

_PR_SET_PDEATHSIG = 1
_NOT_FOR_WORKERS = ("OPENAI_", "ERRANDS_API_KEYS", "ERRANDS_SECRET_KEY")
"""How the variables begin that are keys."""

Process: TypeAlias = "subprocess.Popen[bytes]"

# PyDLL keeps the interpreter's lock during the call, which makes it safe between fork and exec
_libc = ctypes.PyDLL(None) if sys.platform == "linux" else None

GOES_WITH_US = sys.platform == "linux"
"""Whether the system tells a process of ours when we are killed."""


def start_process(command: Sequence[str], environment: Mapping[str, str], log: Path | None) -> Process:
    """Start a process that gets SIGTERM when the thread that calls this ends: so from the main thread only.

    What it says goes to `log`; None: to where ours goes, all of it on stderr.
    """
    if log is None:
        return _start(command, environment, sys.stderr.fileno())
    with log.open("wb") as file:
        return _start(command, environment, file.fileno())


def _start(command: Sequence[str], environment: Mapping[str, str], output: int) -> Process:
    return subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        start_new_session=True,  # Ctrl-C is for us: what it means for this process, we decide
        preexec_fn=partial(_go_with, os.getpid()) if _libc else None,  # two system calls, no lock
    )


def _go_with(parent: int) -> None:
    """Should the parent be killed, be told to go; if it is gone already, never begin."""
    if _libc:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        os._exit(1)


def environment_of_ours(there: Reached) -> dict[str, str]:
    """Ours, with our store, and with the programs beside our interpreter found first.

    An embedded store is not named but found in our home: so the process is a user of it, and it stays while we go.
    """
    ours = {name: value for name, value in os.environ.items() if name != "ERRANDS_REDIS_URL"}
    store = {} if there.embedded else {"ERRANDS_REDIS_URL": store_url(there.settings)}
    programs = os.pathsep.join([str(Path(sys.executable).parent), ours.get("PATH", os.defpath)])
    return {**ours, **store, "ERRANDS_HOME": str(there.settings.home), "PATH": programs}


def environment_for_tools(there: Reached) -> dict[str, str]:
    """`environment_of_ours` without the keys that only an orchestrator may hold."""
    ours = environment_of_ours(there)
    return {name: value for name, value in ours.items() if not name.startswith(_NOT_FOR_WORKERS)}
