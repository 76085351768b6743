"""Arguments of a tool, as they are typed: `--args '{"path": "a.txt"}'`."""

from __future__ import annotations

import json
from typing import Annotated, TypeAlias, cast

from cyclopts import Parameter
from pydantic import JsonValue

from errands_orchestrator.cli.exit_codes import UsageError

Args: TypeAlias = Annotated[str, Parameter(help="Arguments, as a JSON object.")]


def object_given(text: str) -> dict[str, JsonValue]:
    """The object that was typed. Raises UsageError for anything else."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as invalid:
        raise UsageError(f"--args is not JSON: {invalid}") from None
    if not isinstance(value, dict):
        raise UsageError("--args must be a JSON object")
    return cast("dict[str, JsonValue]", value)
