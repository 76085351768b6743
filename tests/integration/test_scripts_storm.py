"""The session protocol under a storm: owners die anywhere, model calls outlast the lease, scripts run twice.

Every letter must be taken in exactly once and in order, every timer must fire exactly once, and nothing may be left.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar, cast

import pytest
import redis.asyncio
from tests.integration.script_scenes import MADE_OF
from tests.waiting import aeventually

from errands_config import keys
from errands_config.scripts import commits, sessions
from errands_config.scripts.commits import Commit
from errands_config.scripts.script import Invocation, arun
from errands_config.scripts.sessions import Acquired
from errands_config.settings import Settings
from errands_config.store import aio_blocking
from errands_config.wire import Mail
from errands_orchestrator import reads
from errands_orchestrator.ending import end_all

T = TypeVar("T")

LEASE_MS = 300
SESSIONS, LETTERS, OWNERS = 100, 8, 24


class Dead(Exception):
    """Nobody goes on here."""


@dataclass
class Storm:
    """What is common to all owners: the store, chance, and how often what happened."""

    store: redis.asyncio.Redis
    chance: random.Random
    twice: float = 0.1
    dies: float = 0.03
    commits: int = 0
    deaths: int = 0
    stale: int = 0

    async def run(self, invocation: Invocation[T]) -> T:
        """Run a script, sometimes twice, and sometimes die before the answer is heard."""
        answer = await arun(self.store, invocation)
        if self.chance.random() < self.twice:
            await arun(self.store, invocation)
        if self.chance.random() < self.dies:
            self.deaths += 1
            raise Dead
        return answer

    def model_seconds(self) -> float:
        return self.chance.choice([0.005, 0.01, 0.02, 0.03, LEASE_MS / 700])


@dataclass
class Owner:
    """One orchestrator's life with one session."""

    storm: Storm
    sid: str
    token: str = field(init=False)

    def __post_init__(self) -> None:
        self.token = f"{self.storm.chance.getrandbits(128):032x}"

    async def live(self) -> None:
        got = await self.storm.run(sessions.acquire(self.sid, self.token, "errands:owner:o", LEASE_MS))
        if not isinstance(got, Acquired):
            return
        self.version, self.cursor = got.head.version, got.head.cursor
        self.timer = int(got.head.snapshot or 0)
        mail: Sequence[Mail] | None = got.mail
        now = got.now
        while mail is not None:
            if mail or 0 < self.timer <= now:
                await self.step(mail, fires=0 < self.timer <= now, now=now)
            mail, now = await self.park()

    async def step(self, mail: Sequence[Mail], *, fires: bool, now: int) -> None:
        await asyncio.sleep(self.storm.model_seconds())
        self.cursor = mail[-1].seq if mail else self.cursor
        before, self.timer = self.timer, 0 if fires else self.timer
        if mail and not self.timer and self.storm.chance.random() < 0.3:
            self.timer = now + self.storm.chance.randint(20, 250)
        entry = {"read": [one.id for one in mail], "fired": fires, "set": self.timer not in (0, before)}
        commit = Commit(
            f"{self.token}{self.version}", self.version, self.cursor, str(self.timer), log=(json.dumps(entry),)
        )
        answer = await self.storm.run(commits.commit(self.sid, self.token, commit, LEASE_MS))
        if answer.outcome == "stale":
            self.storm.stale += 1
            raise Dead
        self.version += 1
        self.storm.commits += 1

    async def park(self) -> tuple[Sequence[Mail] | None, int]:
        answer = await self.storm.run(
            sessions.park(self.sid, self.token, sessions.Rest("waiting_calls", self.timer or None), LEASE_MS)
        )
        return (None if answer.outcome in ("parked", "stale") else answer.mail), answer.now


async def orchestrate(storm: Storm, settings: Settings) -> None:
    """Take what is due, for ever, and come back from every death."""
    async with aio_blocking(settings, 0.05) as ear:
        while True:
            members = (await arun(storm.store, sessions.peek(4))).members
            with suppress(Dead):
                for sid in members:
                    await Owner(storm, sid).live()
            if not members:
                await reads.pop_next(ear, keys.BELL, 0.05)


async def post(storm: Storm, sid: str) -> None:
    """Send a session its letters, each sometimes twice."""
    for number in range(LETTERS):
        await asyncio.sleep(storm.chance.random() * 0.3)
        with suppress(Dead):
            await storm.run(sessions.send_mail(sid, f"{sid}-{number}", "userMessage", "hi"))


@pytest.mark.parametrize("seed", [1, 2])
async def test_nothing_is_lost_or_doubled_when_owners_die_anywhere(
    seed: int, settings: Settings, astore: redis.asyncio.Redis
) -> None:
    storm = Storm(astore, random.Random(seed))
    sids = [f"s{number}" for number in range(SESSIONS)]
    for sid in sids:
        await arun(astore, sessions.create(sid, "a", MADE_OF))
    owners = [asyncio.create_task(orchestrate(storm, settings)) for _ in range(OWNERS)]

    await asyncio.gather(*(post(storm, sid) for sid in sids))
    await aeventually(lambda: nothing_is_due(astore), within=20, saying="every session is parked")

    await end_all(owners)
    wrong = {sid: faults for sid in sids if (faults := faults_of(sid, await reads.elements(astore, keys.log(sid))))}
    assert wrong == {}
    assert storm.deaths > 30
    assert storm.stale > 5  # else no model call outlasted its lease, and the fence was never touched


async def nothing_is_due(store: redis.asyncio.Redis) -> bool:
    return await store.zcard(keys.DUE) == 0


def faults_of(sid: str, log: Sequence[str]) -> list[str]:
    """What one session's log shows to be wrong."""
    entries = [cast("dict[str, object]", json.loads(entry)) for entry in log]
    letters = [letter for entry in entries for letter in cast("list[str]", entry["read"])]
    timers_set, timers_fired = (sum(bool(entry[what]) for entry in entries) for what in ("set", "fired"))
    faults = [f"read {letters}"] if letters != [f"{sid}-{number}" for number in range(LETTERS)] else []
    return faults + ([f"{timers_set} timers set, {timers_fired} fired"] if timers_set != timers_fired else [])
