"""A session watched to the end of its run: its events become a display, a log file, and at last an ending."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from errands_config import keys
from errands_config.text import for_terminal, short
from errands_config.wire import CallState
from errands_orchestrator import reads, sessions
from errands_orchestrator.calls import CallRow, progress_of
from errands_orchestrator.cli.blocked import how_to_answer, what_waits
from errands_orchestrator.cli.board import Board, after, with_call, with_rows
from errands_orchestrator.cli.connecting import Reached
from errands_orchestrator.cli.display import Display
from errands_orchestrator.cli.finding import newest_calls
from errands_orchestrator.cli.following import Point, Seen, events_after
from errands_orchestrator.cli.standing import snapshot_of
from errands_orchestrator.cli.talking import Talk
from errands_orchestrator.pending import PendingCall, pending, why_it_waits
from errands_orchestrator.progress import in_short
from errands_orchestrator.session import AssistantEntry

SHOWN_CALLS = 100
"""Calls of one session that a board looks at."""
LAST_CALLS_SECONDS = 5.0
"""Longest wait for the ends of calls after their run was cancelled."""

RunStatus = Literal["completed", "cancelled", "paused", "blocked", "timeout", "interrupted"]


@dataclass(frozen=True, slots=True)
class Ending:
    """How the watching ended: with the run (`completed`, `cancelled`, `paused`, `blocked`), or before it."""

    status: RunStatus
    cause: str = ""
    """Why it is paused."""
    left: bool = False
    """Its person left before it had ended."""
    stopped: bool = False
    """Its person asked for the end of the run."""
    pending: tuple[PendingCall, ...] = ()
    """What a `blocked` run waits for."""


@dataclass(frozen=True, slots=True)
class Watched:
    """A session to be watched."""

    sid: str
    prompt: str
    """What its person asked, for the head of what is shown."""
    since: Point
    """What comes later is shown."""
    aloud: bool = True
    """Whether the model's words are shown as it says them."""


class Watcher:
    """Watches one session. `stays`: also while only somebody outside can make it go on."""

    def __init__(
        self, store: reads.Store, watched: Watched, display: Display, talk: Talk, *, stays: bool = False
    ) -> None:
        self._store = store
        self._sid = watched.sid
        self._display = display
        self._talk = talk
        self._board = Board(watched.prompt)
        self._since = watched.since.event
        self._entries = watched.since.entries
        self._aloud = watched.aloud
        self._answer = ""
        self._stays = stays

    async def watch(self, there: Reached, note: Callable[[Seen], None]) -> Ending:
        """Show what runs and what happens, until the run ends or pauses. `note` hears of every event first."""
        self._put(await self._explained(with_rows(self._board, await self._rows())))
        async for seen in events_after(there, self._sid, self._since):
            note(seen)
            await self._take(seen)
            if ending := await self._ending(there, seen):
                await self._same_commit(seen, ending, note)
                return ending
        raise AssertionError("events never end")

    async def _ending(self, there: Reached, seen: Seen) -> Ending | None:
        """The ending that an event is. A run that is followed by another at once is none."""
        match seen.kind:
            case "run.paused":
                return Ending("paused", seen.facts.get("cause", ""))
            case "run.blocked":
                return await self._blocked(there)
            case "run.ended" if await self._comes_next(seen, "run.started"):
                return None
            case "run.ended" if seen.facts.get("status") == "cancelled":
                await self._last_calls(there, seen.seq)
                return Ending("cancelled")
            case "run.ended" if await self._talk.ends():
                return Ending("completed")
            case "run.ended":
                self._speak()
                return None
            case _:
                return None

    async def _blocked(self, there: Reached) -> Ending | None:
        """The ending of a run that waits for somebody outside; None if it goes on, or its person stays."""
        session, _ = await snapshot_of(self._store, self._sid)
        calls = await pending(self._store, there.settings, self._sid) if session.blocked else ()
        if calls and self._stays:
            self._display.say(f"waits for outside:\n{what_waits(calls)}\n{how_to_answer(self._sid, calls)}")
        return Ending("blocked", pending=calls) if calls and not self._stays else None

    async def _same_commit(self, last: Seen, ending: Ending, note: Callable[[Seen], None]) -> None:
        """Take what a step told behind the news that its run is blocked: which calls are deferred."""
        behind = await reads.letters_after(self._store, keys.events(self._sid), last.seq)
        for seq, flat in behind if ending.status == "blocked" else ():
            fields = dict(zip(flat[::2], flat[1::2], strict=True))
            note(Seen(seq, fields["kind"], fields))
            await self._take(Seen(seq, fields["kind"], fields))

    async def _comes_next(self, seen: Seen, kind: str) -> bool:
        """Whether the event behind this one, of the same commit, is of this kind."""
        behind = await reads.letters_after(self._store, keys.events(self._sid), seen.seq)
        return bool(behind) and behind[0][1][:2] == ["kind", kind]

    async def _last_calls(self, there: Reached, since: str) -> None:
        """Calls are told to end with their run; a moment later they have."""
        if self._board.lines:
            async for seen in events_after(there, self._sid, since, LAST_CALLS_SECONDS):
                await self._take(seen)
                if not self._board.lines:
                    return

    async def _take(self, seen: Seen) -> None:
        self._put(await self._explained(after(self._board, seen)))
        match seen.kind:
            case "tool_call.progressed":
                await self._progress(seen.facts["tool_call_id"])
            case "turn.started" | "turn.restarted":
                await self._talk.hear()
            case "turn.completed":
                await self._words(seen)
                # of those that are new the events to come tell how far they are
                new = [replace(row, state=CallState.WAITING) for row in await self._rows() if not row.state.is_final]
                self._put(with_rows(self._board, new))
            case _:
                pass

    async def _explained(self, board: Board) -> Board:
        """The board with the reasons of calls that begin to wait for somebody outside."""
        for call in board.calls:
            before = self._board.call(call.id)
            if call.state is CallState.DEFERRED and (before is None or before.state is not CallState.DEFERRED):
                why = await why_it_waits(self._store, call.id)
                board = with_call(board, replace(call, news=short(for_terminal(why))))
        return board

    async def _progress(self, cid: str) -> None:
        call = self._board.call(cid)
        newest = await progress_of(self._store, cid, 1)
        if call and newest:
            self._put(with_call(self._board, replace(call, news=in_short(newest[0].payload) or call.news)))

    async def _words(self, seen: Seen) -> None:
        """What the model says on its way, one answer an event. The answer that ends the run goes elsewhere."""
        fresh = await sessions.entries_of(self._store, self._sid, self._entries)
        for position, entry in enumerate(fresh, 1):
            if isinstance(entry, AssistantEntry):
                self._entries += position
                self._answer = entry.text
                if not await self._comes_next(seen, "run.ended"):
                    self._speak()
                return

    def _speak(self) -> None:
        if self._answer and self._aloud:
            self._display.say(self._answer)

    async def _rows(self) -> list[CallRow]:
        return (await newest_calls(self._store, self._sid, SHOWN_CALLS))[::-1]

    def _put(self, board: Board) -> None:
        if board != self._board:
            self._board = board
            self._display.show(board)
