"""What a process of ours writes into its log that a person should hear at once."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

import orjson

from errands_config.text import for_terminal, short
from errands_orchestrator.cli.up_news import Heard

_LOUD = ("warning", "error", "critical")
_OUR_OWN = frozenset({"ts", "kind", "level", "exception"})
_MOST = 300
"""Characters of one line that are shown."""
_LAST_LINES = 12
_MOST_WORDS = 4
QUIET_SECONDS = 10.0
"""The same words again within this time are not told."""


class LogTail:
    """Reads on in one log file, whatever becomes of its name."""

    def __init__(self, part: str, path: Path) -> None:
        self._part = part
        self._file = path.open("rb")
        self._rest = b""
        self._told: dict[Heard, float] = {}

    def news(self) -> Iterator[Heard]:
        """What has come since the last look."""
        *lines, self._rest = (self._rest + self._file.read()).split(b"\n")
        for line in lines:
            heard = heard_in(self._part, line)
            if heard and self._is_fresh(heard):
                yield heard

    def _is_fresh(self, heard: Heard) -> bool:
        now = time.monotonic()
        self._told = {told: at for told, at in self._told.items() if now - at < QUIET_SECONDS}
        return self._told.setdefault(heard, now) == now

    def close(self) -> None:
        """Read no more."""
        self._file.close()


def last_words(path: Path) -> str:
    """The end of a log file on one line, log lines in short. Empty where there is none."""
    if not path.exists():
        return ""
    lines = [said for line in path.read_bytes().splitlines()[-_LAST_LINES:] if (said := _said(line))]
    return " | ".join(lines[-_MOST_WORDS:])


def _said(line: bytes) -> str:
    facts = _facts(line)
    if facts is None:
        return short(for_terminal(line.decode(errors="replace")), _MOST)
    if facts.get("logger") == "py.warnings":
        return ""
    return short(f"{facts.get('kind', '')}: {_detail(facts)}", _MOST)


def heard_in(part: str, line: bytes) -> Heard | None:
    """What a log line tells a person; None if it is for the file only, as all is that other libraries say."""
    facts = _facts(line)
    if facts is None:
        return None
    kind, level = str(facts.get("kind", "")), str(facts.get("level", ""))
    restarted = kind == "worker.ended" and facts.get("end") != "stopped"
    if kind == "library" or not (restarted or level in _LOUD):
        return None
    return Heard(part=part, level=level, kind=kind, detail=_detail(facts))


def _facts(line: bytes) -> Mapping[str, object] | None:
    try:
        told = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return cast("Mapping[str, object]", told) if isinstance(told, dict) else None


def _detail(facts: Mapping[str, object]) -> str:
    return short(", ".join(f"{name}={value}" for name, value in facts.items() if name not in _OUR_OWN), _MOST)
