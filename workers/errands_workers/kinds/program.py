"""Programs that a call begins: how they are started, and how an end that is a failure is put into words."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from errands_config.wire import Outcome
from errands_workers.attempt import Attempt, failed
from errands_workers.kinds.environment import call_environment, clean_environment
from errands_workers.kinds.script_run import ScriptRun
from errands_workers.nudges import nudges_unblocked
from errands_workers.processes import dying_with_parent

_TAIL_BYTES = 4_000


def environment_of(attempt: Attempt, variables: Mapping[str, str]) -> dict[str, str]:
    """What a program of this call sees: little of the worker's own, these variables, and whose call it is."""
    own = clean_environment(os.environ)
    return {**own, **variables, **call_environment(attempt.claimed, attempt.holder.worker)}


def start(
    path: Path, words: Sequence[str], environment: Mapping[str, str], cwd: Path | None = None
) -> subprocess.Popen[bytes]:
    """Start a program in a session of its own, with pipes to all its streams. Raises OSError."""
    with nudges_unblocked():
        return subprocess.Popen(
            [*dying_with_parent(), str(path), *words],
            env=dict(environment),
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )


def failure_of(code: int, run: ScriptRun) -> Outcome | None:
    """The failure that an exit code is, with the program's last words; None for 0."""
    if code == 0:
        return None
    what = f"exit code {code}" if code > 0 else f"signal {signal.Signals(-code).name}"
    tail = run.stderr.tail(_TAIL_BYTES).strip() or run.stdout.tail(_TAIL_BYTES).strip()
    return failed(f"{what}\n{tail}" if tail else what, what)
