"""One session in hand: step, commit, act, until it can be parked. The only place where the parts meet."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

import structlog

from errands_config import keys
from errands_config.errors import ModelError, TranscriptBroken
from errands_config.scripts import commits
from errands_config.scripts import sessions as scripts
from errands_config.scripts.commits import Publication
from errands_config.scripts.letters import read_mail
from errands_config.scripts.script import Invocation, arun
from errands_config.scripts.sessions import Acquired as Owned
from errands_config.scripts.sessions import Rest
from errands_config.wire import CallPolicy, CallState, Mail
from errands_orchestrator import reads, stepper
from errands_orchestrator.arrivals import (
    Acquired,
    Arrival,
    AskFailed,
    Looked,
    Received,
    Replied,
)
from errands_orchestrator.calls import Nudge, cancel_call
from errands_orchestrator.capabilities.answering import CAPABILITIES
from errands_orchestrator.capabilities.desk import Desk
from errands_orchestrator.committing import (
    PATIENCE,
    Patience,
    commit_of,
    from_records,
    publication_of,
    queued_calls,
    rest_of,
)
from errands_orchestrator.control import set_aside
from errands_orchestrator.decisions import (
    Answer,
    AskModel,
    Begin,
    Cancel,
    Decision,
    Look,
    Park,
    Resolve,
    Step,
    Survey,
    Wait,
)
from errands_orchestrator.definitions import Known, Library
from errands_orchestrator.looking_up import names_in, resolved
from errands_orchestrator.made_call import plain_id
from errands_orchestrator.models.model import ModelRequest, Reply
from errands_orchestrator.session import CapabilityCall, Session
from errands_orchestrator.sessions import new_id, new_token
from errands_orchestrator.snapshot import load_session
from errands_orchestrator.surveying import surveyed
from errands_orchestrator.transcript import Transcript
from errands_orchestrator.transcripts import Transcripts

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Parts:
    """What every session of one process shares."""

    store: reads.Store
    library: Library
    transcripts: Transcripts
    nudge: Nudge
    after_commit: Callable[[Sequence[Publication]], Awaitable[None]] | None
    """Publishes calls when the broker is not the store; None: the commit did it."""
    lease_ms: int
    patience: Patience = PATIENCE


@dataclass(slots=True)
class Hold:
    """The right to step one session."""

    sid: str
    token: str = field(default_factory=new_token)
    offer: str = ""
    """The token under which it comes back to this process when it is woken; empty: whoever has time takes it."""
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when there may be unread mail, or the session is lost."""
    lost: bool = False


class Lost(Exception):
    """The session belongs to somebody else now."""


class Loop:
    """Steps one session from its acquisition to its parking."""

    def __init__(self, parts: Parts, hold: Hold, owned: Owned, known: Known) -> None:
        self._parts = parts
        self._hold = hold
        self._known = known
        head = owned.head
        self._session = load_session(head.snapshot) if head.snapshot else Session(head.sid)
        self._slug = head.slug
        self._version = head.version
        self._entries = head.entries
        self._cursor = self._committed_cursor = self._glanced = head.cursor
        self._set_clock(owned.now)
        self._asking: asyncio.Task[Replied | AskFailed] | None = None
        """The request that is out."""
        self.timer_ms: int | None = None
        """Once it is parked: milliseconds until it is due by itself; None: only mail wakes it."""

    # ---- the clock: the store's, carried on between two of its answers

    def _set_clock(self, now: int) -> None:
        self._clock = (now, time.monotonic())

    def _now(self) -> int:
        now, since = self._clock
        return now + int((time.monotonic() - since) * 1000)

    # ---- step and commit

    async def run(self, mail: Sequence[Mail]) -> None:
        """Go on until the session is parked. Raises Lost when it has another owner."""
        await self._until_parked((Acquired(), *await self._received(mail)))

    async def pause(self, cause: str) -> None:
        """Park a session whose step failed, with the cause, so that it can be resumed."""
        await self._until_parked(await self._carry_out(set_aside(self._known.brief, self._session, cause)))

    async def _until_parked(self, arrivals: Sequence[Arrival] | None) -> None:
        try:
            while arrivals is not None:
                arrivals = await self._carry_out(stepper.step(self._known.brief, self._session, arrivals, self._now()))
        finally:
            self._end_request()

    async def _carry_out(self, step: Step) -> Sequence[Arrival] | None:
        """Commit a step and do what it decided; answers what came of it, None once the session is parked.

        Where nothing is to be done but to wait, one script does both.
        """
        rest = None if self._parts.after_commit else rest_of(step.decisions)
        is_new = step.changed or self._cursor != self._committed_cursor
        answer = await self._commit(step, rest) if is_new else None
        if step.log or AskModel() not in step.decisions:
            self._end_request()
        if answer and rest:
            return await self._parked(answer, rest)
        return await self._act(step.decisions)

    async def _commit(self, step: Step, rest: Rest | None) -> scripts.Answered:
        publish = await self._publications(step)
        commit = commit_of(
            step, commit_id=new_id(), version=self._version, cursor=self._cursor, publish=publish, slug=self._slug,
            patience=self._parts.patience,
        )  # fmt: skip
        sid, token, lease_ms = self._hold.sid, self._hold.token, self._parts.lease_ms
        answer = await self._answered(
            commits.commit(sid, token, commit, lease_ms, self._offering(rest) if rest else None)
        )
        before = self._entries
        self._session, self._committed_cursor = step.session, self._cursor
        self._version += 1
        self._entries += len(step.log)
        self._parts.transcripts.committed(self._hold.sid, before, step.log)
        if publish and self._parts.after_commit:
            await self._parts.after_commit(publish)
        return answer

    async def _answered(self, invocation: Invocation[scripts.Answered]) -> scripts.Answered:
        answer = await arun(self._parts.store, invocation)
        if answer.outcome == "stale":
            raise Lost
        self._set_clock(answer.now)
        return answer

    async def _publications(self, step: Step) -> list[Publication]:
        wanted = queued_calls(step.decisions)
        direct = self._parts.after_commit is None
        fresh = from_records(step.records, self._hold.sid, self._now(), direct) if wanted else {}
        return [fresh[cid] if cid in fresh else await self._recorded(cid, direct) for cid in wanted]

    async def _recorded(self, cid: str, direct: bool) -> Publication:
        """The message of a call whose record was written by an earlier commit."""
        kept = await reads.fields(self._parts.store, keys.call(cid), ("tool", "queue", "policy"))
        tool, queue, policy = (part or "" for part in kept)
        read = CallPolicy.model_validate_json(policy)
        return publication_of(cid, self._hold.sid, tool, queue, read, self._now(), direct)

    # ---- act

    async def _act(self, decisions: Sequence[Decision]) -> Sequence[Arrival] | None:
        for decision in decisions:
            if isinstance(decision, Cancel):
                await self._cancel(decision)
        asks = [self._bring(d) for d in decisions if isinstance(d, Begin | Answer | Look | Resolve | Survey)]
        if asks:
            return await asyncio.gather(*asks)
        if AskModel() in decisions:
            return await self._ask()
        rest = rest_of([decision for decision in decisions if isinstance(decision, Wait | Park)])
        return await self._park(rest) if rest else ()

    async def _cancel(self, cancel: Cancel) -> None:
        running: list[str] = []
        for cid in cancel.calls:
            answer = await cancel_call(self._parts.store, cid, by=cancel.by, reason=cancel.reason)
            running += [cid] if answer.outcome == "asked" else []
        if running:
            await self._parts.nudge(running)

    async def _bring(self, decision: Begin | Answer | Look | Resolve | Survey) -> Arrival:
        match decision:
            case Begin(call):
                return await CAPABILITIES[call.name].begin(self._desk(call))
            case Answer(call):
                return await CAPABILITIES[call.name].answer(self._desk(call))
            case Look(calls):
                return await self._look(calls)
            case Resolve(call):
                return await resolved(self._parts.store, self._known.brief, call)
            case Survey(calls):
                return await surveyed(self._parts.store, calls)

    def _desk(self, call: CapabilityCall) -> Desk:
        return Desk(self._parts.store, self._known.brief, self._session, call, self._now(), self._parts.nudge)

    async def _look(self, calls: Sequence[str]) -> Looked:
        states = await reads.field_of_each(self._parts.store, [keys.call(cid) for cid in calls], "state")
        return Looked(tuple((cid, CallState(state)) for cid, state in zip(calls, states, strict=True)))

    async def _park(self, rest: Rest) -> Sequence[Arrival] | None:
        hold = self._hold
        answer = await self._answered(scripts.park(hold.sid, hold.token, self._offering(rest), self._parts.lease_ms))
        return await self._parked(answer, rest)

    def _offering(self, rest: Rest) -> Rest:
        """What to park with; whatever wakes the session from now on is news."""
        self._hold.wake.clear()
        return replace(rest, offer=self._hold.offer)

    async def _parked(self, answer: scripts.Answered, rest: Rest) -> Sequence[Arrival] | None:
        if answer.outcome != "parked":
            return await self._received(answer.mail)
        self.timer_ms = None if rest.until is None else rest.until - answer.now
        return None

    # ---- mail

    async def _received(self, mail: Sequence[Mail]) -> tuple[Received, ...]:
        if mail:
            self._cursor = mail[-1].seq
        return tuple([Received(await self._whole(letter)) for letter in mail])

    async def _whole(self, letter: Mail) -> Mail:
        """A letter with its result, which stands in the call's record only when it is large."""
        if not letter.truncated or letter.outcome is None:
            return letter
        result = await reads.field(self._parts.store, keys.call(letter.call), "result")
        return letter.model_copy(update={"outcome": letter.outcome.model_copy(update={"result": result or ""})})

    # ---- the model

    async def _ask(self) -> Sequence[Arrival]:
        """Ask the model, or wait on for the answer; urgent mail is taken in meanwhile."""
        self._glanced = self._cursor
        if self._asking is None:
            try:
                request = await self._request()
            except TranscriptBroken as broken:
                self._parts.transcripts.forget(self._hold.sid)
                return (AskFailed(f"the conversation cannot be sent: {broken}", retryable=False),)
            self._asking = asyncio.create_task(self._reply(request), name=f"ask {self._hold.sid}")
        while True:
            waking = asyncio.create_task(self._hold.wake.wait())
            try:
                await asyncio.wait({self._asking, waking}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                waking.cancel()
            if self._asking.done():
                replied, self._asking = self._asking.result(), None
                return (replied,)
            if self._hold.lost:
                raise Lost
            if urgent := await self._urgent():
                return urgent

    def _end_request(self) -> None:
        if self._asking:
            self._asking.cancel()
            self._asking = None

    async def _urgent(self) -> Sequence[Received]:
        """Unread mail, if some of it cannot wait for the model's answer. Each letter is looked at once for that."""
        self._hold.wake.clear()
        fresh = await self._letters_after(self._glanced)
        self._glanced = fresh[-1].seq if fresh else self._glanced
        interruptible = self._known.brief.agent.interrupt_completions
        is_urgent = any(it.kind == "control" or (interruptible and it.priority == "interrupt") for it in fresh)
        return await self._received(await self._letters_after(self._cursor)) if is_urgent else ()

    async def _letters_after(self, seq: str) -> tuple[Mail, ...]:
        return read_mail(await reads.letters_after(self._parts.store, keys.mail(self._hold.sid), seq))

    async def _transcript(self) -> Transcript:
        brief = self._known.brief
        prompt = brief.agent.system_prompt
        return await self._parts.transcripts.upto(self._hold.sid, self._entries, prompt, brief.dialect)

    async def _request(self) -> ModelRequest:
        transcript = await self._transcript()
        return ModelRequest(self._known.model_name, transcript.messages(), self._known.tools)

    async def _reply(self, request: ModelRequest) -> Replied | AskFailed:
        try:
            reply = await self._known.model.reply(request)
        except ModelError as failed:
            log.warning("model.failed", session_id=self._hold.sid, cause=failed.cause, detail=str(failed))
            return AskFailed(failed.cause, failed.retryable, failed.retry_after)
        names = await names_in(self._parts.store, self._known.brief, self._session, reply)
        used = await self._used(reply)
        return Replied(reply, tuple(new_id() for _ in reply.calls), names, used)

    async def _used(self, reply: Reply) -> frozenset[str]:
        """The ids of earlier calls that the calls of an answer must not have."""
        if self._known.brief.dialect == "chat" or not reply.calls:
            return frozenset()
        return (await self._transcript()).used([plain_id(call.provider_id) for call in reply.calls])
