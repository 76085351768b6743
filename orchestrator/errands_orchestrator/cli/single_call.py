"""One call of a tool without a model: a session that holds nothing but this call."""

from __future__ import annotations

import difflib
from contextlib import suppress

from errands_config import keys
from errands_config.agent import Agent, parse_agent
from errands_config.errors import Conflict, NotFound
from errands_config.policy import compile_policy
from errands_config.scripts import sessions as scripts
from errands_config.scripts.script import arun
from errands_config.settings import Settings
from errands_config.store import aio, broker_url
from errands_config.wire import ToolOffer
from errands_orchestrator import reads
from errands_orchestrator.brief import Toolset
from errands_orchestrator.calls import CallRow
from errands_orchestrator.catalogue import live_offers
from errands_orchestrator.cli.cancelling import cancelled
from errands_orchestrator.cli.connecting import Reached
from errands_orchestrator.cli.finding import existing_call
from errands_orchestrator.cli.following import events_after
from errands_orchestrator.cli.interrupts import interrupts
from errands_orchestrator.cli.output import say
from errands_orchestrator.cli.own_log import own_log
from errands_orchestrator.cli.patience import until_over
from errands_orchestrator.cli.watching import Ending
from errands_orchestrator.committing import commit_of, from_records
from errands_orchestrator.decisions import Step
from errands_orchestrator.definitions import StoredAgent, definitions
from errands_orchestrator.dispatcher import Dispatcher
from errands_orchestrator.publishing import publishing
from errands_orchestrator.service import orchestrator
from errands_orchestrator.session import NewCall, Session
from errands_orchestrator.sessions import new_id, new_token

NO_MODEL = '{"slug": "tools-call", "flavor": "Scripted", "modelUrl": "none"}'
"""The agent of such a session. Its script is empty, so that nothing is ever asked of a model."""
EMPTY_SCRIPT = "[]"
LEASE_MS = 6_000


async def called(there: Reached, name: str, arguments: str) -> CallRow:
    """Call a tool (arguments: JSON text of an object) and wait for its end, or until the person leaves.

    Raises NotFound for what nobody offers.
    """
    async with aio(there.settings) as store:
        offer = await _offer(store, name)
        sid = await _session(store, offer)
        with own_log(there.settings.home):
            async with orchestrator(there.settings, only=sid, logs=False):
                cid = await _published(store, there.settings, sid, offer, arguments)
                with interrupts() as pressed:
                    await until_over(_end(there, sid, cid), lambda: _stop(store, there, cid), pressed, None)
        return await existing_call(store, cid)


async def _offer(store: reads.Store, name: str) -> ToolOffer:
    offers = {live.offer.name: live.offer for live in await live_offers(store)}
    if name in offers:
        return offers[name]
    close = difflib.get_close_matches(name, offers, n=1)
    meant = f"; did you mean {close[0]!r}?" if close else ""
    raise NotFound(f"no live worker offers a tool {name!r}{meant} `errands tools list` shows what is offered")


def _agent() -> Agent:
    return parse_agent(NO_MODEL, origin="tools call")


async def _session(store: reads.Store, offer: ToolOffer) -> str:
    made_of = definitions(StoredAgent(file=_agent().canonical, script=EMPTY_SCRIPT), Toolset((offer,)))
    sid = new_id()
    await arun(store, scripts.create(sid, _agent().slug, made_of))
    return sid


async def _published(store: reads.Store, settings: Settings, sid: str, offer: ToolOffer, arguments: str) -> str:
    """Record and publish the call in one step, as the session's owner for a moment."""
    token = new_token()
    owned = await arun(store, scripts.acquire(sid, token, keys.channel(sid), LEASE_MS, named=True))
    if isinstance(owned, str):
        raise Conflict(f"session {sid} cannot be taken: {owned}")
    call = _new_call(offer, arguments)
    publish = from_records((call,), sid, owned.now, direct=settings.broker_url is None)
    step = commit_of(
        Step(Session(sid), (), records=(call,)),
        commit_id=new_id(), version=owned.head.version, cursor=owned.head.cursor, publish=[publish[call.id]],
        slug=owned.head.slug,
    )  # fmt: skip
    answers = [await arun(store, scripts.commit(sid, token, step, LEASE_MS))]
    answers.append(await arun(store, scripts.park(sid, token, scripts.Rest("idle"), LEASE_MS)))
    if any(answer.outcome == "stale" for answer in answers):
        raise Conflict(f"session {sid} was taken by somebody else")
    if settings.broker_url is not None:
        dispatcher = Dispatcher(broker_url(settings))
        await publishing(store, dispatcher)([publish[call.id]])
        dispatcher.close()
    return call.id


def _new_call(offer: ToolOffer, arguments: str) -> NewCall:
    policy = compile_policy(_agent()).resolve(offer.name, None)
    seconds = min(policy.timeout_seconds, offer.timeout_seconds or policy.timeout_seconds)
    return NewCall(
        id=new_id(), tool=offer.name, arguments=arguments, provider_id="", turn=0, position=0,
        policy=policy.model_copy(update={"timeout_seconds": seconds}), queue=offer.queue,
    )  # fmt: skip


async def _end(there: Reached, sid: str, cid: str) -> Ending:
    async for seen in events_after(there, sid, "0-0"):
        if seen.ends(cid):
            break
    return Ending("completed")


async def _stop(store: reads.Store, there: Reached, cid: str) -> None:
    say("cancelling the call; press Ctrl-C again to leave at once")
    with suppress(Conflict):  # it has ended meanwhile, and is shown as it did
        await cancelled(store, there, cid, "cancelled by Ctrl-C")
