"""Arguments of a tool, as they are typed: `--args '{"path": "a.txt"}'`."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from cyclopts import Parameter
from pydantic import JsonValue

from errands_orchestrator.cli.exit_codes import UsageError

Args: TypeAlias = Annotated[str, Parameter(help="Arguments, as a JSON object.")]


def object_given(text: str) -> dict[str, JsonValue]:
    """The object that was typed, read as strictly as a model's. Raises UsageError for anything else."""
    from errands_orchestrator.arguments import read_arguments  # imported here: only few commands take arguments

    read = read_arguments('""' if text.strip() in ("", "null") else text, None)
    if not isinstance(read.value, dict):
        raise UsageError(f"--args: {read.fault}")
    return read.value
