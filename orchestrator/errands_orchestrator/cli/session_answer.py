"""`errands session answer`: a question of a model to its user."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from errands_orchestrator.cli.given_token import Token, wanted, with_token
from errands_orchestrator.cli.output import AsJson
from errands_orchestrator.cli.outside_answer import give


def answer(
    token: Token = None,
    text: Annotated[
        str | None,
        Parameter(
            help="The answer: one of the choices, or its number, where there are some. With --dismiss: why.",
            allow_leading_hyphen=True,
        ),
    ] = None,
    /,
    *,
    dismiss: Annotated[bool, Parameter(negative="", help="Put the question aside; TEXT may say why.")] = False,
    as_json: AsJson = False,
) -> None:
    """Answer or dismiss a question of an agent. After the question has ended the model gets the answer as mail.

    The same again is confirmed again; another answer is refused with 5.
    """
    target, rest = with_token(token, text, most=2)
    if dismiss:
        give(lambda deferrals: deferrals.dismiss(target, rest[0] if rest else ""), as_json=as_json)
        return
    said = wanted(rest, "TEXT")
    give(lambda deferrals: deferrals.answer(target, said), as_json=as_json)
