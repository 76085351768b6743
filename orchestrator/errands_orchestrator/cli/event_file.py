"""The file of `--log-json-file`: one JSON line for each event of the session, without `ts`."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from errands_config.errors import ConfigError
from errands_config.wire import CallState
from errands_orchestrator.cli.following import Seen
from errands_orchestrator.logs import log_line

_ENDS = frozenset(f"tool_call.{state}" for state in CallState if state.is_final)


class EventFile:
    """An open log file."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, seen: Seen) -> None:
        """Add one line."""
        end = {"end_seq": seen.seq} if seen.kind in _ENDS else {}
        self._file.write(log_line({**seen.facts, **end}, stamped=False) + "\n")
        self._file.flush()


@contextmanager
def event_file(path: Path | None) -> Generator[EventFile | None]:
    """The file, appended to; None for no path. Raises ConfigError if it cannot be written."""
    if path is None:
        yield None
        return
    try:
        file = path.open("a")
    except OSError as refused:
        raise ConfigError(f"{path} cannot be written: {refused.strerror}", path="--log-json-file") from None
    with file:
        yield EventFile(file)
