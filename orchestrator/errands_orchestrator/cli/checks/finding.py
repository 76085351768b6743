"""What `errands doctor` says about one thing that it looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Level: TypeAlias = Literal["ok", "note", "wrong"]
"""`note`: nothing is broken, but somebody should know. `wrong`: something has to be done."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    check: str
    level: Level
    text: str
    """What is the case, and where."""
    advice: str = ""
    """What to do; empty where all is well."""


def span(ms: float) -> str:
    """A time as people say it, in the largest unit that fits."""
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000)):
        if ms >= 2 * size:
            return f"{ms / size:.0f} {unit}"
    return f"{ms / 1000:.0f} s"
