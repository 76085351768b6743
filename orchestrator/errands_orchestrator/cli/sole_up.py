"""One `errands up` for each ERRANDS_HOME. The kernel drops the lock with its process: a killed one is in no way."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from errands_config.errors import Conflict
from errands_config.settings import make_home


@contextmanager
def sole_up(home: Path, slugs: Sequence[str]) -> Generator[None]:
    """Be the only `up` of this home inside the block. Raises Conflict, which says what the other one serves."""
    path = make_home(home) / "up.lock"
    with path.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Conflict(_taken(home, path)) from None
        file.truncate(0)
        file.write(f"process {os.getpid()}, agents {', '.join(slugs)}")
        file.flush()
        yield
        file.truncate(0)


def _taken(home: Path, path: Path) -> str:
    return (
        f"`errands up` is already there in {home} ({path.read_text() or 'it is just beginning or ending'}). "
        "Use it as it is; or stop it with Ctrl-C and name all agent files in one `errands up`; "
        "or set ERRANDS_HOME to another folder for a second one"
    )
