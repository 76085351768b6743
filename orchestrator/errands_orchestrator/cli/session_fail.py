"""`errands session fail`: a deferred call that could not be done."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from errands_orchestrator.cli.given_token import Token, wanted, with_token
from errands_orchestrator.cli.output import AsJson
from errands_orchestrator.cli.outside_answer import give


def fail(
    token: Token = None,
    reason: Annotated[str | None, Parameter(help="Why it failed; the model reads it.")] = None,
    /,
    *,
    as_json: AsJson = False,
) -> None:
    """End a deferred call as failed. The same again is confirmed again; another answer is refused with 5."""
    target, rest = with_token(token, reason, most=2)
    why = wanted(rest, "REASON")
    give(lambda deferrals: deferrals.fail(target, why), as_json=as_json)
