"""Play a load through the real mailbox and the real loop."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter

from bench.cpu import cpu_now
from bench.dispatch import OFFER
from bench.product import agent, connected, made_of, product
from bench.router.load import Load, Trigger, triggers
from bench.router.played import Call, Played
from bench.stage import Store, own_store
from errands_config.scripts.script import arun, run
from errands_config.scripts.sessions import create, send_mail
from errands_config.settings import Settings
from errands_config.store import plain
from errands_orchestrator.models import ModelRequest, Reply
from errands_orchestrator.sessions import new_id

_WITHIN_SECONDS = 120
_USER = b'{"role":"user"'
_NUMBER = re.compile(rb"trigger (\d+)")


def play(load: Load) -> Played:
    """In a store of its own, by an orchestrator in this process."""
    with own_store() as store:
        return asyncio.run(_played(load, store))


async def _played(load: Load, store: Store) -> Played:
    model = _Sleeper(load)
    async with connected(store.settings) as redis, product(store.settings, model):
        made = await made_of(redis, agent(), [OFFER])
        for number in range(load.conversations):
            await arun(redis, create(_sid(number), "bench", made))
        await arun(redis, create("first", "bench", made, text="so that connections are open when it begins"))
        await asyncio.wait_for(model.warm.wait(), _WITHIN_SECONDS)
        before, began = cpu_now(None, store.pid), perf_counter()
        sent = await asyncio.to_thread(_send, store.settings, load)
        await asyncio.wait_for(model.done.wait(), _WITHIN_SECONDS)
        cpu = cpu_now(None, store.pid) - before

    def simulated(moment: float) -> float:
        return (moment - began) * load.scale

    arrived = [replace(trigger, at=simulated(trigger.at)) for trigger in sent.triggers]
    calls = [Call(simulated(call.asked), simulated(call.answered), call.triggers) for call in model.calls]
    return Played(load, arrived, calls, replace(cpu, client=cpu.client - sent.cpu_seconds))


def _sid(conversation: int) -> str:
    return f"conversation-{conversation}"


class _Sleeper:
    """A model that takes as long as the load says for the triggers of the newest user message, and ends its turn."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._read = 0
        self.calls: list[Call] = []
        """In real seconds."""
        self.warm = asyncio.Event()
        """The first message, which is no trigger, is answered."""
        self.done = asyncio.Event()
        """All triggers are."""

    async def reply(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> Reply:
        """Sleep."""
        asked = perf_counter()
        numbers = tuple(map(int, _NUMBER.findall(request.messages.rpartition(_USER)[2])))
        if not numbers:
            self.warm.set()
            return Reply("ready")
        await asyncio.sleep(self._load.call_of(len(numbers)) / self._load.scale)
        self.calls.append(Call(asked, perf_counter(), numbers))
        self._read += len(numbers)
        if self._read >= self._load.triggers:
            self.done.set()
        return Reply("decided")

    async def close(self) -> None:
        """Nothing to give back."""


@dataclass(frozen=True, slots=True)
class _Sent:
    """Each trigger with the moment just before it was sent, and what the sending took of the processor."""

    triggers: list[Trigger]
    cpu_seconds: float


def _send(settings: Settings, load: Load) -> _Sent:
    """Send each at its moment, as messages of a user. In a thread of its own, with a connection of its own."""
    began, used = perf_counter(), time.thread_time()
    sent: list[Trigger] = []
    with plain(settings) as client:
        for number, trigger in enumerate(triggers(load)):
            time.sleep(max(0.0, began + trigger.at / load.scale - perf_counter()))
            sent.append(replace(trigger, at=perf_counter()))
            run(client, send_mail(_sid(trigger.conversation), new_id(), "userMessage", f"trigger {number}"))
    return _Sent(sent, time.thread_time() - used)
