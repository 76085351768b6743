"""What a worker and the functions in it print and log: no secret that the worker knows."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any, TextIO, cast

from errands_workers.scrubbing import scrubbed


def keep_out_of_output(secrets: Mapping[str, str]) -> None:
    """From now on `sys.stdout` and `sys.stderr` cut these secrets out of each text that is written to them.

    Processes forked from this one do so, too. What a program writes to the descriptors themselves is not seen.
    """
    if secrets:
        sys.stdout = cast("TextIO", _Scrubbing(sys.stdout, secrets))
        sys.stderr = cast("TextIO", _Scrubbing(sys.stderr, secrets))


class _Scrubbing:
    """A text stream in front of another one."""

    def __init__(self, stream: TextIO, secrets: Mapping[str, str]) -> None:
        self._stream = stream
        self._secrets = secrets

    def write(self, text: str) -> int:
        self._stream.write(scrubbed(text, self._secrets))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
