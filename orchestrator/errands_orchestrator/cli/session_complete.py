"""`errands session complete`: the result of a deferred call."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from errands_config.text import decode
from errands_orchestrator.cli.exit_codes import UsageError
from errands_orchestrator.cli.given_token import Token, wanted, with_token
from errands_orchestrator.cli.output import AsJson
from errands_orchestrator.cli.outside_answer import give
from errands_orchestrator.outside_result import Result, read_result


def complete(
    token: Token = None,
    file: Annotated[
        str | None, Parameter(help="File with the result; `-` reads the rest of stdin.", allow_leading_hyphen=True)
    ] = None,
    /,
    *,
    as_json: AsJson = False,
) -> None:
    """Complete a deferred call with a result. The same again is confirmed again; another one is refused with 5.

    The file holds {"type": "text"|"json", "content": ...}, or else plain text, which is trimmed.
    """
    target, rest = with_token(token, file, most=2)
    result = _result(wanted(rest, "FILE"))
    give(lambda deferrals: deferrals.complete(target, result), as_json=as_json)


def _result(file: str) -> Result:
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as unreadable:
        raise UsageError(f"{file} cannot be read: {unreadable.strerror}") from None
    text = decode(data).text.removeprefix("\ufeff")
    if not text.strip():
        raise UsageError(f"{file} is empty: a result says something")
    return read_result(text)
