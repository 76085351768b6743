"""`errands session export`: a session as one JSON document."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from errands_config.errors import ConfigError
from errands_orchestrator.cli.connecting import with_store
from errands_orchestrator.cli.output import AsJson, print_json, say
from errands_orchestrator.export import Export, exported


def export(
    session: str,
    file: Annotated[Path | None, Parameter(help="Where to write it, for you alone to read; left out: stdout.")] = None,
    /,
    *,
    as_json: AsJson = True,
) -> None:
    """Print a session whole: its log, its calls with arguments and results, its events; no tokens.

    The form has a version and is described in `errands_orchestrator.export`.
    """
    document = with_store(lambda store, _: exported(store, session))
    if file is None:
        print_json(document.model_dump(mode="json"))
        return
    _write(file, document)
    counts = document.counts
    say(f"{file}: {counts.entries} entries, {counts.calls} calls, {counts.events} events")


def _write(file: Path, document: Export) -> None:
    """Results may be private: the file is its owner's alone from the first byte on."""
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    except OSError as refused:
        raise ConfigError(f"{file} cannot be written: {refused.strerror}", path="FILE") from None
    with open(handle, "w") as out:
        out.write(document.model_dump_json(indent=2) + "\n")
