"""`errands session pending`: the calls that wait for somebody outside."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from errands_orchestrator import pending as pending_calls
from errands_orchestrator.capabilities.desk import when
from errands_orchestrator.cli.call_fields import call_fields
from errands_orchestrator.cli.connecting import with_store
from errands_orchestrator.cli.output import AsJson, Limit, Row, print_facts, print_json, print_text, say
from errands_orchestrator.pending import PendingCall

SHOWN = ("tool", "provider_call_id", "tool_call_id", "session_id", "kind", "reason", "arguments", "expires_at")
"""What a person is shown of each, and its token behind it."""


def pending(
    session: Annotated[str | None, Parameter(help="Only of this session; left out: of all.")] = None,
    /,
    *,
    show_tokens: Annotated[
        bool, Parameter(negative="", help="With the tokens: whoever reads one can answer the call.")
    ] = False,
    limit: Limit = 50,
    as_json: AsJson = False,
) -> None:
    """List the calls that wait for somebody outside, oldest first: what they want, and until when.

    Answer with `errands session complete|fail|deny|approve`, a question with `errands session answer`.
    """
    calls = with_store(lambda store, there: pending_calls.pending(store, there.settings, session, limit))
    rows = [_fields(call, show_tokens=show_tokens) for call in calls]
    if as_json:
        print_json(rows)
        return
    if not rows:
        say("nothing waits for somebody outside")
    for number, row in enumerate(rows):
        if number:
            print_text("")
        print_facts({name: row[name] for name in (*SHOWN, "continuation_token") if name in row}, as_json=False)


def _fields(waiting: PendingCall, *, show_tokens: bool) -> Row:
    row: Row = {
        **call_fields(waiting.call),
        "reason": waiting.reason or None,
        "expires_at": when(waiting.expires_at),
        "kind": waiting.kind,
        "deferred_at": when(waiting.deferred_at),
        "arguments": waiting.arguments,
    }
    return {**row, "continuation_token": waiting.token} if show_tokens else row
