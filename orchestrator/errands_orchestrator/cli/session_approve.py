"""`errands session approve`: leave for a deferred call to run."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from errands_orchestrator.cli.given_token import Token, with_token
from errands_orchestrator.cli.output import AsJson
from errands_orchestrator.cli.outside_answer import give


def approve(
    token: Token = None,
    /,
    *,
    args: Annotated[
        str | None,
        Parameter(help="Run it with these arguments instead: a JSON object. [redacted ...] leaves a value as it is."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Have a deferred call run with exactly the arguments that `errands session pending` shows. It wants the token.

    The same again is confirmed again; another answer is refused with 5. Edited arguments are checked against the
    tool's schema and the policy.
    """
    target, _ = with_token(token, most=1)
    give(lambda deferrals: deferrals.approve(target, args), as_json=as_json)
