"""`errands tools call`: one call of a tool without a model, waited for by a person."""

from __future__ import annotations

from contextlib import suppress

from errands_config.errors import Conflict
from errands_config.store import aio
from errands_orchestrator import reads
from errands_orchestrator.calls import CallRow
from errands_orchestrator.cli.cancelling import cancelled
from errands_orchestrator.cli.connecting import Reached
from errands_orchestrator.cli.finding import existing_call
from errands_orchestrator.cli.following import events_after
from errands_orchestrator.cli.interrupts import interrupts
from errands_orchestrator.cli.output import say
from errands_orchestrator.cli.own_log import own_log
from errands_orchestrator.cli.patience import until_over
from errands_orchestrator.cli.watching import Ending
from errands_orchestrator.direct_call import made_session, offer_of, published
from errands_orchestrator.service import orchestrator


async def called(there: Reached, name: str, arguments: str) -> CallRow:
    """Call a tool (arguments: JSON text of an object) and wait for its end, or until the person leaves.

    Raises NotFound for what nobody offers.
    """
    async with aio(there.settings) as store:
        offer = await offer_of(store, name)
        sid = await made_session(store, offer)
        with own_log(there.settings.home):
            async with orchestrator(there.settings, only=sid, logs=False):
                cid = (await published(store, there.settings, sid, offer, arguments)).call
                with interrupts() as pressed:
                    await until_over(_end(there, sid, cid), lambda: _stop(store, there, cid), pressed, None)
        return await existing_call(store, cid)


async def _end(there: Reached, sid: str, cid: str) -> Ending:
    async for seen in events_after(there, sid, "0-0"):
        if seen.ends(cid):
            break
    return Ending("completed")


async def _stop(store: reads.Store, there: Reached, cid: str) -> None:
    say("cancelling the call; press Ctrl-C again to leave at once")
    with suppress(Conflict):  # it has ended meanwhile, and is shown as it did
        await cancelled(store, there, cid, "cancelled by Ctrl-C")
