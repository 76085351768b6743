"""A session stepped in this process, beside any orchestrators, until its run has ended or stands still."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Literal, TypeAlias

from errands_config import keys
from errands_config.errors import ConfigError, Conflict, ModelError
from errands_orchestrator import reads, sessions
from errands_orchestrator.brief import Toolset
from errands_orchestrator.cli.standing import snapshot_of, standing_of
from errands_orchestrator.client_agents import Given
from errands_orchestrator.client_errors import BlockedOnDeferredCalls, RunCancelled, RunPaused
from errands_orchestrator.client_events import BEGINNING, Event, events_of, position_of
from errands_orchestrator.client_place import Place
from errands_orchestrator.definitions import Library, MakeModel
from errands_orchestrator.pending import PendingCall, pending
from errands_orchestrator.session import AssistantEntry

RunStatus: TypeAlias = Literal["completed", "paused", "blocked", "cancelled"]
LEAVE_SECONDS = 0.5
"""What a session in hand gets to park when its run is left before its end."""


@dataclass(frozen=True, slots=True)
class Run:
    """How the run of a session ended, or that it stands still."""

    session: str
    status: RunStatus
    answer: str = ""
    """What the model said last, if it completed."""
    cause: str = ""
    """Why it is paused."""
    pending: tuple[PendingCall, ...] = ()
    """The calls that it waits for, if only somebody outside can make it go on: `blocked`."""

    def expect_answer(self) -> str:
        """The answer. Raises RunPaused, RunCancelled or BlockedOnDeferredCalls if there is none."""
        match self.status:
            case "completed":
                return self.answer
            case "paused":
                raise RunPaused(self.session, self.cause)
            case "blocked":
                raise BlockedOnDeferredCalls(self.session, self.pending)
            case "cancelled":
                raise RunCancelled(self.session)


class Runs:
    """Brings runs to their ends."""

    def __init__(self, place: Place, make_model: MakeModel) -> None:
        self._place = place
        self._make_model = make_model

    async def check_model(self, given: Given) -> None:
        """Raise ConfigError if the agent's model cannot even be asked: no name, no key, a script that is none."""
        try:
            model, _ = self._make_model(given.agent, given.made.script)
        except ModelError as unusable:
            raise ConfigError(str(unusable)) from None
        await model.close()

    async def tools_of(self, sid: str) -> Toolset:
        """The tools that a session listed when it began; its model can be asked. Raises NotFound, RunPaused."""
        await sessions.status_of(self._place.store, sid)
        agent, tools = await reads.fields(self._place.store, keys.session(sid), ("agent", "tools"))
        library = Library(self._place.store, self._make_model)
        try:
            return (await library.known(agent or "", tools or "")).brief.tools
        except ModelError as unusable:
            raise RunPaused(sid, str(unusable)) from None
        finally:
            await library.close()

    async def to_the_end(self, sid: str, since: str, resumed_by: str = BEGINNING) -> Run:
        """Step a session whose run goes on.

        `since`: a position before the run's end; `resumed_by`: the place in its mailbox of what resumes it.
        """
        async with self.stepped(sid), aclosing(events_of(self._place, sid, since, follow=True)) as events:
            async for event in events:
                if run := await self._run_at(event, resumed_by):
                    return run
        raise AssertionError("events that are followed do not end")

    async def resumed(self, sid: str) -> Run:
        """Go on with a session. Raises Conflict where there is nothing to go on with."""
        store = self._place.store
        since = await position_of(store, sid)  # before the look: what ends in between is seen as news
        match await standing_of(store, sid):
            case "cancelled":
                raise Conflict(f"the run of session {sid} was cancelled; a message to the session begins another")
            case "new":
                raise Conflict(f"nothing was said in session {sid} yet; a message to it begins a run")
            case "completed":
                return await self._completed(sid)
            case "resting":
                await sessions.control(store, sid, "resume")
                return await self._completed(sid)
            case "paused" | "going on":
                # for a run that is not paused it means nothing, so there is no race to lose
                receipt = await sessions.control(store, sid, "resume")
                return await self.to_the_end(sid, since, receipt.seq)

    @asynccontextmanager
    async def stepped(self, sid: str) -> AsyncGenerator[None]:
        """Have an orchestrator for this one session inside the block."""
        from errands_orchestrator.service import orchestrator  # imported here: it takes most of a second

        stepping = orchestrator(self._place.settings, only=sid, logs=False, make_model=self._make_model)
        async with stepping as ownership:
            try:
                yield
            except asyncio.CancelledError:
                await ownership.close(LEAVE_SECONDS)
                raise

    async def _run_at(self, event: Event, resumed_by: str) -> Run | None:
        """How the run stands if this event says so. A run that is followed by another at once has not ended yet."""
        match event.kind:
            case "run.paused":
                return await self._paused(event.session, resumed_by)
            case "run.blocked":
                return await self._blocked(event.session, resumed_by)
            case "run.ended" if not await self._begins_again(event):
                if event.facts.get("status") == "cancelled":
                    return Run(event.session, "cancelled")
                return await self._completed(event.session)
            case "reset":
                return await self._at_rest(event.session, resumed_by)
            case _:
                return None

    async def _at_rest(self, sid: str, resumed_by: str) -> Run | None:
        """How the run stands if it does not go on: the event that said so may be among those that are gone."""
        match await standing_of(self._place.store, sid):
            case "completed" | "resting":
                return await self._completed(sid)
            case "cancelled":
                return Run(sid, "cancelled")
            case "paused":
                return await self._paused(sid, resumed_by)
            case "new" | "going on":
                return await self._blocked(sid, resumed_by)

    async def _paused(self, sid: str, resumed_by: str) -> Run | None:
        """How it stands still; None if it goes on again, or will once it has taken in what resumes it."""
        session, cursor = await snapshot_of(self._place.store, sid)
        if not session.is_paused or _order(cursor) < _order(resumed_by):
            return None
        return Run(sid, "paused", cause=session.cause)

    async def _blocked(self, sid: str, resumed_by: str) -> Run | None:
        """What it waits for if that is somebody outside and nothing else."""
        session, cursor = await snapshot_of(self._place.store, sid)
        if not session.blocked or _order(cursor) < _order(resumed_by):
            return None
        calls = await pending(self._place.store, self._place.settings, sid)
        return Run(sid, "blocked", pending=calls) if calls else None

    async def _begins_again(self, ended: Event) -> bool:
        """Whether another run begins in the same commit: somebody spoke meanwhile."""
        behind = await reads.letters_after(self._place.store, keys.events(ended.session), ended.id)
        return bool(behind) and behind[0][1][:2] == ["kind", "run.started"]

    async def _completed(self, sid: str) -> Run:
        entries = await sessions.entries_of(self._place.store, sid)
        said = (entry.text for entry in reversed(entries) if isinstance(entry, AssistantEntry))
        return Run(sid, "completed", next(said, ""))


def _order(position: str) -> tuple[int, ...]:
    """Positions in a stream as they follow one another."""
    return tuple(int(part) for part in position.split("-"))
