"""What a person says to a session while its run goes on: sent in order, each once, queued until the model has it."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace

from redis.exceptions import RedisError

from errands_config.errors import Conflict, ErrandsError
from errands_orchestrator import reads, sessions
from errands_orchestrator.cli.asides import call_named, ended, running_calls
from errands_orchestrator.cli.connecting import Reached
from errands_orchestrator.cli.display import Display
from errands_orchestrator.cli.queued import Queued, still_queued
from errands_orchestrator.cli.standing import snapshot_of
from errands_orchestrator.cli.typed import CancelOne, ListCalls, Message, Remark, meaning

AGAIN_SECONDS = 0.5
"""Pause before a message that could not be sent is tried again."""
LAST_SECONDS = 1.0
"""What a message that was typed last gets to be sent."""


class Talk:
    """One person's side of the conversation."""

    def __init__(self, store: reads.Store, there: Reached, sid: str, display: Display) -> None:
        self._store = store
        self._there = there
        self._sid = sid
        self._display = display
        self._outbox: asyncio.Queue[Queued | CancelOne | ListCalls] = asyncio.Queue()
        self._queued: tuple[Queued, ...] = ()
        self._sent = asyncio.Event()
        self._closed = ""

    # ---- what is typed

    def typed(self, line: str) -> None:
        """Take one line."""
        match meaning(line):
            case None:
                pass
            case Remark(text):
                self._display.say(text)
            case Message(text, interrupt):
                self._say(Queued(sessions.new_id(), text, interrupt))
            case aside:
                self._outbox.put_nowait(aside)

    def _say(self, message: Queued) -> None:
        if self._closed:
            self._display.say(f"not sent, {self._closed}: {message.text}")
            return
        self._outbox.put_nowait(message)
        self._put((*self._queued, message))

    def _put(self, queued: tuple[Queued, ...]) -> None:
        self._queued = queued
        self._display.queue([one.text for one in queued])

    # ---- what is sent

    async def deliver(self) -> None:
        """Send what is typed, for ever: messages one after another, all else beside them."""
        async with asyncio.TaskGroup() as group:
            while True:
                item = await self._outbox.get()
                if isinstance(item, Queued):
                    await self._deliver(item)
                else:
                    group.create_task(self._aside(item))

    async def _deliver(self, message: Queued) -> None:
        full = False
        while True:
            try:
                receipt = await sessions.send(
                    self._store, self._sid, message.text, mail_id=message.mail_id, interrupt=message.interrupt
                )
                self._queued = tuple(
                    replace(one, seq=receipt.seq) if one.mail_id == message.mail_id else one for one in self._queued
                )
                await self.hear()
                break
            except Conflict:
                if not full:
                    self._display.say("the mailbox is full; what you typed is sent as soon as there is room")
                full = True
            except reads.AWAY:
                pass  # whoever follows the events says so, and brings our own store back
            await asyncio.sleep(AGAIN_SECONDS)
        self._sent.set()

    async def _aside(self, item: CancelOne | ListCalls) -> None:
        try:
            if isinstance(item, ListCalls):
                self._display.say(await running_calls(self._store, self._sid))
            else:
                await self._cancel(item.call)
        except (ErrandsError, RedisError) as failed:
            self._display.say(f"{failed}")

    async def _cancel(self, name: str) -> None:
        cid = await call_named(self._store, self._sid, name)
        if cid is None:
            self._display.say(f"there is no call {name}: /calls lists them")
            return
        self._display.say(f"asking {name} to end")
        if told := await ended(self._store, self._there, cid, name):
            self._display.say(told)

    # ---- what the model has

    async def hear(self) -> None:
        """Take off the queue what the model has had; it stands above then, as a part of the conversation."""
        if not self._queued:
            return
        session, cursor = await snapshot_of(self._store, self._sid)
        people = (item.text for item in session.inbox if item.kind == "user")
        left = still_queued(self._queued, cursor, people)
        for one in self._queued:
            if one not in left:
                self._display.say(f"> {one.text}")
        self._put(left)

    # ---- the end

    async def ends(self) -> bool:
        """Whether the talk ends with a run that has ended; False while something said is on its way to another run."""
        await self._nothing_unsent()
        await self.hear()
        if self._queued:
            return False
        self.close("the run has ended")
        return True

    def close(self, why: str) -> None:
        """Send nothing more that is typed."""
        self._closed = self._closed or why

    async def all_sent(self) -> None:
        """Take nothing more, and give what was typed a moment to be sent."""
        self.close("the run has ended")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LAST_SECONDS):
                await self._nothing_unsent()

    async def _nothing_unsent(self) -> None:
        while any(not one.seq for one in self._queued):
            self._sent.clear()
            await self._sent.wait()

    def tell_left(self) -> None:
        """Tell the person what the model has not had."""
        for one in self._queued:
            kept = "kept in the session for the next request" if one.seq else "not sent"
            self._display.say(f"{kept}: {one.text}")
        self._put(())
