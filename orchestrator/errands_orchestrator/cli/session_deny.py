"""`errands session deny`: no leave for a deferred call."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from errands_orchestrator.cli.given_token import Token, wanted, with_token
from errands_orchestrator.cli.output import AsJson
from errands_orchestrator.cli.outside_answer import give


def deny(
    token: Token = None,
    reason: Annotated[str | None, Parameter(help="Why not; the model reads it.")] = None,
    /,
    *,
    as_json: AsJson = False,
) -> None:
    """Deny a deferred call; it does not run. The same again is confirmed again; another answer is refused with 5."""
    target, rest = with_token(token, reason, most=2)
    why = wanted(rest, "REASON")
    give(lambda deferrals: deferrals.deny(target, why), as_json=as_json)
