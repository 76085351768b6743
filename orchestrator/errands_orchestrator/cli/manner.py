"""How a person wants a run to be watched."""

from __future__ import annotations

from dataclasses import dataclass

from errands_orchestrator.cli.event_file import EventFile


@dataclass(frozen=True, slots=True)
class Manner:
    """The options that `run` and `session resume` share."""

    timeout_seconds: float | None = None
    """After so long we leave; None: never."""
    log_file: EventFile | None = None
    as_json: bool = False
    stepping: bool = False
    """One step only: its words are printed when it is over, and nothing that is typed meanwhile is heard."""
