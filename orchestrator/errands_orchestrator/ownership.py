"""Which sessions this process steps: it takes what is due, keeps it while it steps it, and lets it go."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Coroutine, Sequence
from typing import Any

import structlog

from errands_config import keys
from errands_config.defects import where_raised
from errands_config.errors import ErrandsError
from errands_config.listening import listen
from errands_config.scripts import sessions as scripts
from errands_config.scripts.gifts import Gift, read_gift, refuse
from errands_config.scripts.script import arun
from errands_orchestrator import reads
from errands_orchestrator.definitions import Known, unusable
from errands_orchestrator.ending import end_all
from errands_orchestrator.loop import Hold, Loop, Lost, Parts
from errands_orchestrator.sessions import new_id, new_token

log = structlog.get_logger()

AT_ONCE = 256
"""Sessions that one process steps at a time; more stay due, for it or for another."""
BUSY = 32
"""A process that steps more than these leaves what it parks to whoever has time when it is woken."""
LOOK_SECONDS = 1.0
"""How often `due` is looked at even when no bell rings and no timer is near."""
CLOSE_SECONDS = 5.0
"""Longest wait for the sessions in hand to be parked when the process ends."""


class Ownership:
    """The sessions in hand. `only`: this process steps that one session and no other."""

    def __init__(self, parts: Parts, listening: reads.Store, *, only: str | None = None) -> None:
        self._parts = parts
        self._listening = listening
        self._only = only
        self._held: dict[str, Hold] = {}
        self._running: set[asyncio.Task[None]] = set()
        self._gifts: dict[str, Gift] = {}
        """What was given before we heard that it is parked."""
        self._channel = keys.channel(new_id())
        self._heard = "0-0"
        self._patient_until = 0.0
        self._closing = False
        self._one_let_go = asyncio.Event()
        self._full = False
        self._look_now = asyncio.Event()
        self._next_look = LOOK_SECONDS

    # ---- taking

    async def look(self) -> None:
        """Take what is due, for ever: at its moment if that is known here, else with the next look."""
        while True:
            self._look_now.clear()
            self._next_look = LOOK_SECONDS
            await self._guarded(self._take_due())
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._next_look):
                    await self._look_now.wait()

    async def hear(self) -> None:
        """Take what the bell (or, for a single session, its mailbox) names, at once."""
        while True:
            await self._guarded(self._hear_once())

    async def _hear_once(self) -> None:
        if self._only is None:
            rung = await reads.pop_next(self._listening, keys.BELL, LOOK_SECONDS)
            if rung:
                await self.take(rung)
            return
        heard = await reads.follow(self._listening, keys.mail(self._only), self._heard, int(LOOK_SECONDS * 1000))
        if heard:
            self._heard = heard[-1][0]
            await self.take(self._only)

    async def _take_due(self) -> None:
        if self._only is not None:
            await self.take(self._only)
            return
        free = AT_ONCE - len(self._held)
        self._full = free <= 0
        if self._full:
            return
        ripe = await arun(self._parts.store, scripts.peek(free))
        taken = [await self.take(sid) for sid in ripe.members]
        if any(taken) and len(ripe.members) >= free:
            self._next_look = 0
        elif ripe.next_in_ms is not None:
            self._next_look = min(LOOK_SECONDS, ripe.next_in_ms / 1000)

    async def take(self, sid: str, *, named: bool = False) -> bool:
        """Become the owner of a session that is due, and step it. False: somebody else has it, or nothing is to do."""
        if in_hand := self._held.get(sid):
            in_hand.wake.set()
        if self._closing or in_hand or len(self._held) >= AT_ONCE:
            return False
        hold = self._held[sid] = self._hold(sid, new_token())
        try:
            patient = time.monotonic() < self._patient_until
            owned = await arun(
                self._parts.store,
                scripts.acquire(sid, hold.token, self._channel, self._parts.lease_ms, named=named, patient=patient),
            )
        except (asyncio.CancelledError, *reads.AWAY):
            self._let_go(sid)
            raise
        except Exception as broken:
            # One session that cannot be read, say of a newer version, harms no other. It falls due again.
            self._let_go(sid)
            _tell("session.stuck", sid, broken)
            return False
        if isinstance(owned, str):
            self._let_go(sid)
            return False
        self._begin(self._step(hold, owned), sid)
        return True

    def _hold(self, sid: str, token: str) -> Hold:
        return Hold(sid, token, new_token() if len(self._held) < BUSY else "")

    def _begin(self, work: Coroutine[Any, Any, None], sid: str) -> None:
        task = asyncio.create_task(work, name=f"session {sid}")
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    def _let_go(self, sid: str) -> None:
        self._held.pop(sid, None)
        self._one_let_go.set()
        if gift := self._gifts.pop(sid, None):
            self._accept(gift)

    def _accept(self, gift: Gift) -> None:
        """Step a session that was parked here and is woken, and is ours by that; without time for it, pass it on."""
        sid = gift.owned.head.sid
        if sid in self._held:
            self._gifts[sid] = gift
        elif self._closing or len(self._held) >= AT_ONCE:
            self._begin(self._refuse(gift), sid)
        else:
            hold = self._held[sid] = self._hold(sid, gift.token)
            self._begin(self._step(hold, gift.owned), sid)

    async def _refuse(self, gift: Gift) -> None:
        await self._guarded(arun(self._parts.store, refuse(gift.owned.head.sid, gift.token)))

    # ---- stepping

    async def _step(self, hold: Hold, owned: scripts.Acquired) -> None:
        try:
            await self._run(hold, owned)
        except Lost:
            log.info("session.lost", session_id=hold.sid)
        except reads.AWAY as away:
            self._store_failed(away)
        except Exception as broken:
            # It could not even be set aside; whoever acquires it when the lease has run out tries again.
            _tell("session.stuck", hold.sid, broken)
        finally:
            self._let_go(hold.sid)
            if self._full or hold.wake.is_set():  # a slot is free; or mail came while the park's answer was on its way
                self._look_now.set()

    async def _run(self, hold: Hold, owned: scripts.Acquired) -> None:
        loop = Loop(self._parts, hold, owned, await self._known(owned.head))
        try:
            await loop.run(owned.mail)
        except (Lost, *reads.AWAY):
            raise
        except Exception as broken:
            # A step that fails would fail again at every takeover: the session is set aside with the cause instead.
            _tell("session.broken", hold.sid, broken)
            self._parts.transcripts.forget(hold.sid)
            await loop.pause(f"internal error: {type(broken).__name__}")
        self._look_in(loop.timer_ms)

    async def _known(self, head: scripts.Head) -> Known:
        try:
            return await self._parts.library.known(head.agent, head.tools)
        except ErrandsError as missing:
            log.warning("agent.unusable", session_id=head.sid, detail=str(missing))
            return unusable(head.slug, str(missing))

    def _look_in(self, ms: int | None) -> None:
        """Look when the timer of a session that was parked here is up; a later one is met by the looks till then."""
        if ms is not None and ms < LOOK_SECONDS * 1000:
            asyncio.get_running_loop().call_later(ms / 1000, self._look_now.set)

    # ---- keeping

    async def renew(self) -> None:
        """Keep every session in hand, several times a lease."""
        while True:
            await asyncio.sleep(self._parts.lease_ms / 3000)
            await self._guarded(self._renew_once())

    async def _renew_once(self) -> None:
        held = list(self._held.values())
        if not held:
            return
        pairs = [(hold.sid, hold.token) for hold in held]
        for hold, state in zip(
            held, await arun(self._parts.store, scripts.renew(pairs, self._parts.lease_ms)), strict=True
        ):
            hold.lost = state == "lost"
            if state != "ok":
                hold.wake.set()

    async def listen(self) -> None:
        """Hear of mail for the sessions in hand, and of those that come back."""
        while True:
            await self._guarded(listen(self._parts.store, self._channel, self._heed))
            await asyncio.sleep(0.2)

    def _heed(self, message: str) -> None:
        try:
            gift = read_gift(message)
        except Exception as broken:  # as in `take`: whoever can read the session takes it when this lease is over
            log.error("gift.unreadable", error=type(broken).__name__, place=where_raised(broken))
            return
        if gift:
            self._accept(gift)
        elif hold := self._held.get(message):
            hold.wake.set()

    # ---- the store away, and the end

    async def _guarded(self, work: Awaitable[object]) -> None:
        try:
            await work
        except reads.AWAY as away:
            self._store_failed(away)
            await asyncio.sleep(0.2)

    def _store_failed(self, error: Exception) -> None:
        """Nobody could renew meanwhile: for one lease, leave alone what has an owner."""
        self._patient_until = time.monotonic() + self._parts.lease_ms / 1000
        log.warning("store.away", detail=str(error))

    @property
    def in_hand(self) -> Sequence[str]:
        """The sessions being stepped."""
        return list(self._held)

    async def close(self, seconds: float = CLOSE_SECONDS) -> None:
        """Take nothing more, give the sessions in hand some time to park, then let them fall to others."""
        self._closing = True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._held:  # also what is being acquired as we begin to close: its answer makes it ours
                    self._one_let_go.clear()
                    await self._one_let_go.wait()
        await end_all(self._running)


def _tell(kind: str, sid: str, defect: Exception) -> None:
    log.error(kind, session_id=sid, error=type(defect).__name__, place=where_raised(defect))
