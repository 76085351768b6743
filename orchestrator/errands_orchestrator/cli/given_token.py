"""The token that a command works with: typed, or from stdin or ERRANDS_TOKEN, so that no list of processes shows it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

from cyclopts import Parameter

from errands_orchestrator.cli.exit_codes import UsageError
from errands_orchestrator.tokens import is_token

VARIABLE = "ERRANDS_TOKEN"

Token = Annotated[
    str | None,
    Parameter(
        help="The call's token, or our id of the call; `-` reads it from a line of stdin; left out: ERRANDS_TOKEN.",
        allow_leading_hyphen=True,
    ),
]


def with_token(*words: str | None, most: int) -> tuple[str, Sequence[str]]:
    """The token among the words that were typed, of which there are `most` with it, and the others.

    Raises UsageError where there is none.
    """
    typed = [word for word in words if word is not None]
    known = os.environ.get(VARIABLE, "").strip()
    if typed and (len(typed) == most or is_token(typed[0]) or not known):
        token = _from_stdin() if typed[0] == "-" else typed[0]
        return _present(token), typed[1:]
    return _present(known), typed


def _from_stdin() -> str:
    # as bytes: the lines behind it may be a result, which is read so
    return sys.stdin.buffer.readline().decode(errors="replace").strip()


def _present(token: str) -> str:
    if not token.strip():
        raise UsageError(f"no token: name it, or set {VARIABLE}; `errands session pending --show-tokens` prints them")
    return token


def wanted(rest: Sequence[str], name: str) -> str:
    """The word behind the token. Raises UsageError where it is missing or blank."""
    if not rest or not rest[0].strip():
        raise UsageError(f"{name} is missing: it comes behind the token")
    return rest[0]
