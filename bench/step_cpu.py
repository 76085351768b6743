"""Figure 3: CPU of one step of a long conversation, against the `openai` package's own request of the same messages.

Product: one whole turn of the loop: from one answer's arrival over the call that it makes (run by a worker, whose CPU
does not count) to the next answer's arrival. Baseline: `chat.completions.create(messages=…)`, the request alone.
Both ask the same loopback stub, which answers at once. Only the CPU of the asking process counts.
"""

from __future__ import annotations

import asyncio
import gc
import json
import time
from collections.abc import Callable
from typing import Any

import openai
from pydantic import SecretStr

from bench.cpu import Cpu
from bench.figure import Figure, Round, Side, side
from bench.history import start_behind
from bench.product import DONE, agent, connected, made_of, product
from bench.stage import Store
from bench.stub import stub
from errands_config.scripts.sessions import Definitions
from errands_config.wire import ToolOffer
from errands_orchestrator import reads
from errands_orchestrator.models import ChatModel, ModelRequest, Reply, chat_model

ROUNDS = 5
STEPS = 4
"""Measured steps of a session; one before them reads the conversation from the store."""
REQUESTS = {10: 8, 1000: 2}
"""Requests of a round of the baseline."""
GOAL_LONG = 1 / 20
GOAL_GROWTH = 4.0
_SCHEMA = '{"type":"object","properties":{"text":{"type":"string","description":"Any text, which is given back."}}}'


def step_cpu(store: Store) -> list[Figure]:
    """Both sides alternately, at 10 and at 1,000 messages."""
    store.be("fast")
    gc.collect()
    gc.freeze()
    with stub() as url:
        return asyncio.run(_figures(store, url))


async def _figures(store: Store, url: str) -> list[Figure]:
    model = _Metered(chat_model(url=url, key=SecretStr("none")))
    sizes = {size: _Size(size, requests) for size, requests in REQUESTS.items()}
    async with (
        connected(store.settings) as redis,
        product(store.settings, model),
        openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client,
    ):
        definition = await made_of(redis, agent(), _offers())
        for _ in range(1 + ROUNDS):
            for size in sizes.values():
                await size.round(redis, definition, model, client)
    return _told(sizes[10], sizes[1000])


def _offers() -> list[ToolOffer]:
    """Twenty tools, one of which is called."""
    names = ["bench_nothing", *(f"bench_other_{number}" for number in range(19))]
    about = "Give the text back as it is. " * 4
    return [ToolOffer(name=name, description=about, parameters=_SCHEMA, digest="d", kind="function") for name in names]


class _Metered:
    """A chat model that notes the CPU time at each question and at each answer, and ends the run after some steps."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self.begin()

    def begin(self) -> None:
        """For the next session."""
        self.asked: list[float] = []
        self.answered: list[float] = []
        self.request: ModelRequest | None = None
        self.done = asyncio.Event()

    async def reply(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> Reply:
        """What the endpoint answers, until the steps are done."""
        self.asked.append(time.process_time())
        if len(self.asked) == 2 + STEPS // 2:
            self.request = request
        if len(self.asked) > 2 + STEPS:
            self.done.set()
            return DONE
        answer = await self._model.reply(request, on_text)
        self.answered.append(time.process_time())
        return answer

    async def close(self) -> None:
        """Close the endpoint."""
        await self._model.close()


class _Size:
    """The rounds of both sides at one length."""

    def __init__(self, messages: int, requests: int) -> None:
        self.messages = messages
        self._requests = requests
        self._ours: list[Round] = []
        self._ours_alone: list[Round] = []
        self._theirs: list[Round] = []

    async def round(
        self, store: reads.Store, definition: Definitions, model: _Metered, client: openai.AsyncOpenAI
    ) -> None:
        """One session, then as many requests of the length that it had in its middle."""
        model.begin()
        await start_behind(store, definition, self.messages)
        await asyncio.wait_for(model.done.wait(), 60)
        self._ours.append(_round(model.answered[1:], model.answered[2:]))
        self._ours_alone.append(_round(model.answered[1:], model.asked[2:]))
        assert model.request
        self._theirs.append(await _requests(client, model.request, self._requests))

    @property
    def ours(self) -> Side:
        """A whole turn."""
        return side(self._ours[1:])  # the first round imports and connects

    @property
    def ours_alone(self) -> Side:
        """The turn without its HTTP exchange."""
        return side(self._ours_alone[1:])

    @property
    def theirs(self) -> Side:
        """A request."""
        return side(self._theirs[1:])


def _round(begun: list[float], ended: list[float]) -> Round:
    seconds = tuple(end - begin for begin, end in zip(begun, ended, strict=False))[:STEPS]
    return Round(seconds, Cpu(sum(seconds), 0.0, 0.0))


async def _requests(client: openai.AsyncOpenAI, request: ModelRequest, count: int) -> Round:
    messages: Any = json.loads(request.messages)
    tools: Any = json.loads(request.tools)
    used: list[float] = []
    for _ in range(count):
        began = time.process_time()
        await client.chat.completions.create(model="instant", messages=messages, tools=tools)
        used.append(time.process_time() - began)
    return Round(tuple(used), Cpu(sum(used), 0.0, 0.0))


def _told(short: _Size, long: _Size) -> list[Figure]:
    alone = f"{long.ours_alone.median_ms:.1f} ms of it without the HTTP exchange"
    short_alone = f"{short.ours_alone.median_ms:.1f} ms of it without the HTTP exchange"
    return [
        _against("CPU of a step, 1,000 messages, against create()", long.ours, long.theirs, GOAL_LONG, alone),
        _against("CPU of a step, 10 messages, against create()", short.ours, short.theirs, None, short_alone),
        _against("CPU of a step, 1,000 messages against 10", long.ours, short.ours, GOAL_GROWTH, ""),
    ]


def _against(name: str, ours: Side, theirs: Side, goal: float | None, note: str) -> Figure:
    return Figure(name, ours.median_ms / theirs.median_ms, goal, "x", "fast", ours, theirs, note)
