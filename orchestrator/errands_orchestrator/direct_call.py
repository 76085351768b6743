"""One call of a tool without a model: a session that holds nothing but this call."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from errands_config import keys
from errands_config.agent import Agent, parse_agent
from errands_config.errors import Conflict, NotFound
from errands_config.policy import compile_policy
from errands_config.scripts import commits
from errands_config.scripts import sessions as scripts
from errands_config.scripts.script import arun
from errands_config.settings import Settings
from errands_config.store import broker_url
from errands_config.wire import ToolOffer
from errands_orchestrator import reads
from errands_orchestrator.brief import Toolset
from errands_orchestrator.catalogue import live_offers
from errands_orchestrator.committing import commit_of, from_records
from errands_orchestrator.decisions import Step
from errands_orchestrator.definitions import StoredAgent, definitions
from errands_orchestrator.dispatcher import Dispatcher
from errands_orchestrator.publishing import publishing
from errands_orchestrator.recording import with_own
from errands_orchestrator.session import NewCall, Session
from errands_orchestrator.sessions import new_id, new_token

NO_MODEL = '{"slug": "tools-call", "flavor": "Scripted", "modelUrl": "none"}'
"""The agent of such a session. Its script is empty, so that nothing is ever asked of a model."""
EMPTY_SCRIPT = "[]"
LEASE_MS = 6_000


@dataclass(frozen=True, slots=True)
class DirectCall:
    """A call that was published, and the session that was made for it."""

    session: str
    call: str


async def offer_of(store: reads.Store, name: str) -> ToolOffer:
    """A tool as a live worker offers it. Raises NotFound, with the name that may have been meant."""
    offers = {live.offer.name: live.offer for live in await live_offers(store)}
    if name in offers:
        return offers[name]
    close = difflib.get_close_matches(name, offers, n=1)
    meant = f"; did you mean {close[0]!r}?" if close else ""
    raise NotFound(f"no live worker offers a tool {name!r}{meant} `errands tools list` shows what is offered")


async def made_session(store: reads.Store, offer: ToolOffer) -> str:
    """A session for calls of this tool."""
    made_of = definitions(StoredAgent(file=_agent().canonical, script=EMPTY_SCRIPT), Toolset((offer,)))
    sid = new_id()
    await arun(store, scripts.create(sid, _agent().slug, made_of))
    return sid


async def published(store: reads.Store, settings: Settings, sid: str, offer: ToolOffer, arguments: str) -> DirectCall:
    """Record and publish a call in one step, as the session's owner for a moment. `arguments`: an object as JSON text.

    Raises Conflict if somebody else has the session.
    """
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
    answer = await arun(store, commits.commit(sid, token, step, LEASE_MS, scripts.Rest("idle")))
    if answer.outcome == "stale":
        raise Conflict(f"session {sid} was taken by somebody else")
    if settings.broker_url is not None:
        await _sent_to_broker(store, settings, publish[call.id])
    return DirectCall(sid, call.id)


async def _sent_to_broker(store: reads.Store, settings: Settings, publication: commits.Publication) -> None:
    dispatcher = Dispatcher(broker_url(settings))
    try:
        await publishing(store, dispatcher)([publication])
    finally:
        dispatcher.close()


def _agent() -> Agent:
    return parse_agent(NO_MODEL, origin="tools call")


def _new_call(offer: ToolOffer, arguments: str) -> NewCall:
    policy = with_own(compile_policy(_agent()).resolve(offer.name, None), offer)
    return NewCall(
        id=new_id(), tool=offer.name, arguments=arguments, provider_id="", turn=0, position=0, policy=policy,
        queue=offer.queue,
    )  # fmt: skip
