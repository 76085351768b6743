"""A small second worker: it beats, offers tools, claims what comes and finishes it, through the scripts alone."""

from __future__ import annotations

import asyncio
import base64
import json
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import redis.asyncio

from errands_config import keys
from errands_config.scripts import attempts, workers
from errands_config.scripts.attempts import ClaimRefused, Finished, Holder
from errands_config.scripts.script import arun
from errands_config.settings import Settings
from errands_config.store import aio, aio_blocking
from errands_config.wire import CallState, Claimed, Outcome, TaskMessage, ToolOffer
from errands_orchestrator.ending import end_all
from errands_orchestrator.reads import AWAY

T = TypeVar("T")

SCHEMA = '{"type":"object","properties":{"x":{}}}'

Tool = Callable[["FakeWorker", Claimed], Awaitable[Outcome]]


def offer(name: str, **more: Any) -> ToolOffer:
    plain: dict[str, Any] = {"description": f"Does {name}.", "parameters": SCHEMA, "digest": "d", "kind": "function"}
    return ToolOffer(name=name, **plain | more)


def done(result: str) -> Outcome:
    return Outcome(state=CallState.COMPLETED, result=result)


async def echo(worker: FakeWorker, call: Claimed) -> Outcome:
    """A tool that gives back what it was asked."""
    return done(f"{call.tool} {call.arguments}")


@dataclass
class FakeWorker:
    """One incarnation. `tool` runs every call; what it claimed, was refused and finished is kept for the test."""

    store: redis.asyncio.Redis
    settings: Settings
    name: str
    tool: Tool
    holder: Holder = field(init=False)
    claimed: list[Claimed] = field(default_factory=list[Claimed])
    refused: list[ClaimRefused] = field(default_factory=list[ClaimRefused])
    finished: list[Finished] = field(default_factory=list[Finished])
    wishes: dict[str, str] = field(default_factory=dict[str, str])
    settled: bool = False
    tasks: list[asyncio.Task[None]] = field(default_factory=list[asyncio.Task[None]])
    gates: dict[str, asyncio.Future[Outcome]] = field(default_factory=dict[str, asyncio.Future[Outcome]])

    def __post_init__(self) -> None:
        self.holder = Holder(self.name, 1)

    # ---- beating

    async def beat(self) -> None:
        heard = await arun(self.store, workers.beat(self.name, {"host": "here"}))
        self.settled, self.wishes = heard.state == "settled", heard.wishes

    async def beat_on(self) -> None:
        while True:
            await self.until_answered(self.beat)
            await asyncio.sleep(self.settings.beat_seconds)

    async def until_answered(self, ask: Callable[[], Awaitable[T]]) -> T:
        """What a worker does while the store is away: it asks again."""
        while True:
            try:
                return await ask()
            except AWAY:
                await asyncio.sleep(0.05)

    def fall_silent(self) -> None:
        """As if it had been killed: no beat, no claim and no finish any more."""
        for task in self.tasks:
            task.cancel()

    # ---- calls

    async def serve(self, queue: str) -> None:
        async with aio_blocking(self.settings, 1) as ear:
            while True:
                got: Any = await self.until_answered(lambda: cast("Any", ear.brpop([queue], timeout=1)))
                if got:
                    self.tasks.append(asyncio.create_task(self.run(task_message(got[1]))))

    async def run(self, message: TaskMessage) -> None:
        claim = attempts.claim(message, secrets.token_hex(16), self.holder)
        got = await self.until_answered(lambda: arun(self.store, claim))
        if isinstance(got, ClaimRefused):
            self.refused.append(got)
            return
        self.claimed.append(got)
        outcome = await self.tool(self, got)
        finish = attempts.finish(got, self.holder, message.queue, outcome)
        self.finished.append(await self.until_answered(lambda: arun(self.store, finish)))

    async def gated(self, call: Claimed) -> Outcome:
        """A tool that waits until the test says how it ends; see `end`."""
        gate = self.gates.setdefault(call.arguments, asyncio.get_running_loop().create_future())
        return await gate

    def end(self, arguments: str, outcome: Outcome) -> None:
        """Let the gated call with these arguments (JSON text) end."""
        self.gates.setdefault(arguments, asyncio.get_running_loop().create_future()).set_result(outcome)


def task_message(entry: str) -> TaskMessage:
    """What a Celery message on a queue's list carries."""
    return TaskMessage(**json.loads(base64.b64decode(json.loads(entry)["body"]))[1])


async def gated(worker: FakeWorker, call: Claimed) -> Outcome:
    """The tool of a worker whose calls end when the test says so."""
    return await worker.gated(call)


@asynccontextmanager
async def fake_worker(
    settings: Settings,
    *tools: str | ToolOffer,
    tool: Tool = echo,
    name: str = "w1",
    queues: Sequence[str] = ("default",),
) -> AsyncGenerator[FakeWorker]:
    """A worker that offers these tools and serves these queues inside the block."""
    async with aio(settings) as store:
        worker = FakeWorker(store, settings, name, tool)
        for one in tools:
            offered = offer(one) if isinstance(one, str) else one
            await cast("Any", store.hset(keys.catalogue(name), offered.name, offered.model_dump_json()))
        await worker.beat()
        worker.tasks.append(asyncio.create_task(worker.beat_on()))
        worker.tasks += [asyncio.create_task(worker.serve(queue)) for queue in queues]
        try:
            yield worker
        finally:
            await end_all(worker.tasks)
