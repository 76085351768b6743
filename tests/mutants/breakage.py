"""One breakage of the code, and the tests that must notice it."""

from __future__ import annotations

from dataclasses import dataclass

SCRIPTS = "config/errands_config/scripts"
ORCHESTRATOR = "orchestrator/errands_orchestrator"
WORKERS = "workers/errands_workers"


@dataclass(frozen=True, slots=True)
class Breakage:
    """One change of one line. `old` stands exactly once in `file`."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
