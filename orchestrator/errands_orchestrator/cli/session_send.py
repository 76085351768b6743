"""`errands session send`: say something to a session."""

from __future__ import annotations

import sys
from typing import Annotated

from cyclopts import Parameter

from errands_orchestrator import parameters, reads, sessions
from errands_orchestrator.cli.assignments import Assignments, assigned
from errands_orchestrator.cli.connecting import with_store
from errands_orchestrator.cli.exit_codes import UsageError
from errands_orchestrator.cli.output import AsJson, Row, print_facts, say
from errands_orchestrator.cli.stepped_by import anybody_steps


def send(
    session: str,
    text: Annotated[str, Parameter(help="What to say; `-` reads it from stdin.", allow_leading_hyphen=True)],
    /,
    *,
    given: Assignments = None,
    interrupt: Annotated[
        bool, Parameter(negative="", help="Be heard at once: the session lets go of what it waits for.")
    ] = False,
    mail_id: Annotated[
        str | None, Parameter(name="--id", help="Id of this message: sent again within a day, it is kept once.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say something to a session as its user, and print the receipt. It is heard when the session is stepped next.

    --set changes parameters of scope `message` before the message is sent, for the calls that begin from then on.
    Nothing is stepped here. Exit code 4 for an unknown session, 5 if its mailbox is full.
    """
    said = sys.stdin.read().rstrip("\n") if text == "-" else text
    if not said.strip():
        raise UsageError("there is nothing to say: the text is empty")
    letter, values = mail_id or sessions.new_id(), assigned(given)

    async def sent(store: reads.Store) -> Row:
        if values:
            await parameters.changed_parameters(store, session, values)
        return await _sent(store, session, said, letter, interrupt)

    print_facts(with_store(lambda store, _: sent(store)), as_json=as_json)


async def _sent(store: reads.Store, sid: str, text: str, letter: str, interrupt: bool) -> Row:
    receipt = await sessions.send(store, sid, text, mail_id=letter, interrupt=interrupt)
    if not await anybody_steps(store):
        say(f"nobody steps sessions now: `errands session resume {sid}` goes on with it")
    return {"id": letter, "seq": receipt.seq, "duplicate": receipt.outcome == "duplicate"}
