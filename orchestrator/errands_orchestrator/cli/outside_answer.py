"""An answer from outside, given from the command line and confirmed on it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from errands_config.errors import InvalidArguments
from errands_orchestrator import reads
from errands_orchestrator.cli.connecting import Reached, with_store
from errands_orchestrator.cli.exit_codes import UsageError
from errands_orchestrator.cli.output import print_facts, say
from errands_orchestrator.cli.stepped_by import anybody_steps
from errands_orchestrator.deferred import Deferrals, Resolution


def give(answer: Callable[[Deferrals], Awaitable[Resolution]], *, as_json: bool) -> None:
    """Give an answer and print what came of it; the same answer again prints the same."""

    async def work(store: reads.Store, there: Reached) -> Resolution:
        resolution = await answer(Deferrals(store, there.settings))
        if resolution.outcome == "mailed":
            say("the question had ended: its model gets this answer as mail, with the next message")
        elif not await anybody_steps(store):
            say(f"nobody steps sessions now: `errands session resume {resolution.session}` goes on with it")
        return resolution

    try:
        resolution = with_store(work)
    except InvalidArguments as unfit:
        raise UsageError(str(unfit)) from None
    print_facts(
        {
            "tool_call_id": resolution.call,
            "session_id": resolution.session,
            "tool": resolution.tool,
            "outcome": resolution.outcome,
        },
        as_json=as_json,
    )
