"""Where a process of ours writes its log: JSON lines with `ts`, `kind` and `level`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from errands_config.settings import make_home

KEPT = 20
"""Log files of one kind that stay in the folder."""
LAST_LINES = 5


def log_to(file: TextIO, first: Processor | None = None) -> None:
    """Write every log line of this process to a file; `first` sees each line before."""
    structlog.configure(
        processors=[
            *([first] if first else []),
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts"),
            structlog.processors.format_exc_info,
            structlog.processors.EventRenamer("kind"),
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.WriteLoggerFactory(file),
    )


def log_to_stderr() -> None:
    """For servers."""
    log_to(sys.stderr)


@contextmanager
def own_log(home: Path, first: Processor | None = None) -> Generator[None]:
    """Keep the log lines of an orchestrator inside this process in a file: stderr is for the person."""
    with new_log(home, "orchestrator").open("w") as file:
        log_to(file, first)
        try:
            yield
        finally:
            structlog.reset_defaults()


def hearing_the_model(tell: Callable[[str], None]) -> Processor:
    """A processor that changes nothing and tells why the model did not answer.

    Events hold the cause alone; the log has what the endpoint said and what to do.
    """

    def hear(_: WrappedLogger, __: str, line: EventDict) -> EventDict:
        if line.get("event") == "model.failed":
            tell(f"model: {line['detail']}")
        return line

    return hear


def new_log(home: Path, kind: str) -> Path:
    """A path for a new log file in ERRANDS_HOME/logs; of older ones of its kind the newest stay."""
    folder = make_home(home) / "logs"
    folder.mkdir(mode=0o700, exist_ok=True)
    for old in sorted(folder.glob(f"{kind}-*.log"))[: -KEPT + 1]:
        old.unlink(missing_ok=True)
    return folder / f"{kind}-{time.time_ns()}.log"


def last_lines(path: Path) -> str:
    """The end of a log file, on one line."""
    lines = [line for line in path.read_text(errors="replace").splitlines() if line.strip()]
    return " | ".join(lines[-LAST_LINES:])
