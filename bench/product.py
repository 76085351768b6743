"""The product's side: the real orchestrator, with a model of the benchmark's own in place of an endpoint."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from time import perf_counter
from unittest.mock import patch

from errands_config.agent import Agent, parse_agent
from errands_config.scripts.sessions import Definitions
from errands_config.settings import Settings
from errands_config.store import aio
from errands_config.wire import ToolOffer
from errands_orchestrator import reads, service, sessions
from errands_orchestrator.brief import Toolset
from errands_orchestrator.catalogue import live_offers, tools_of
from errands_orchestrator.definitions import StoredAgent, definitions
from errands_orchestrator.models import Model, ModelCall, ModelRequest, Reply
from errands_orchestrator.ownership import Ownership
from errands_orchestrator.session import Entry
from errands_orchestrator.transcripts import Transcripts

DONE = Reply("done")


def calling(name: str, count: int = 1, arguments: Mapping[str, str] | None = None) -> Reply:
    """An answer that calls a tool so many times."""
    text = json.dumps(arguments or {})
    return Reply("", tuple(ModelCall(f"call_{number}", name, text) for number in range(count)), "tool_calls")


class Turns:
    """A model that answers at once, one given reply after another, and notes when it was asked and when it answered."""

    def __init__(self, replies: Sequence[Reply], noting: Callable[[int], None] = lambda _: None) -> None:
        """`noting` is called with the number of each question, from 0, between its coming and its answer."""
        self._replies = iter(replies)
        self._noting = noting
        self.asked: list[float] = []
        self.answered: list[float] = []
        self.done = asyncio.Event()
        """Set with the answer behind the last reply, which ends the run."""

    async def reply(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> Reply:
        """The next reply; `DONE` behind the last."""
        self.asked.append(perf_counter())
        self._noting(len(self.asked) - 1)
        reply = next(self._replies, DONE)
        if reply is DONE:
            self.done.set()
        self.answered.append(perf_counter())
        return reply

    async def close(self) -> None:
        """Nothing to give back."""

    @property
    def between(self) -> tuple[float, ...]:
        """Seconds from each answer to the next question: what came between them was done by the product."""
        return tuple(asked - answered for answered, asked in zip(self.answered, self.asked[1:], strict=False))


class _Watched(Transcripts):
    """Tells of each commit that wrote to a session's log, as soon as the store has answered it."""

    def __init__(self, store: reads.Store, on_commit: Callable[[], None]) -> None:
        super().__init__(store)
        self._on_commit = on_commit

    def committed(self, sid: str, before: int, entries: Sequence[Entry]) -> None:
        if entries:
            self._on_commit()
        super().committed(sid, before, entries)


@asynccontextmanager
async def product(
    settings: Settings, model: Model, on_commit: Callable[[], None] = lambda: None
) -> AsyncGenerator[Ownership]:
    """An orchestrator whose sessions all ask this model. `on_commit`: see `_Watched`."""

    def watched(store: reads.Store) -> Transcripts:
        return _Watched(store, on_commit)

    def make_model(_agent: Agent, _script: str) -> tuple[Model, str]:
        return model, "instant"

    with patch.object(service, "Transcripts", watched):
        async with service.orchestrator(settings, logs=False, make_model=make_model) as ownership:
            yield ownership


def agent(queue: str = "default", max_concurrency: int = 4) -> Agent:
    """An agent whose calls all run in the background, and whose steps wait for them."""
    text = {
        "slug": "bench", "modelName": "instant", "executionMode": "asynchronous", "maxConcurrency": max_concurrency,
        "tools": ["bench_*", "bash_*"],
        "toolCallPolicyConfig": {"default": {"tag": "runAsync", "queue": queue}},
    }  # fmt: skip
    return parse_agent(json.dumps(text), origin="bench")


async def made_of(store: reads.Store, described: Agent, tools: Sequence[ToolOffer] | None = None) -> Definitions:
    """What sessions of this agent are made of: it, and what the workers offer unless told."""
    offered = Toolset(tuple(tools)) if tools else tools_of(described, await live_offers(store))
    return definitions(StoredAgent(file=described.canonical), offered)


async def start(store: reads.Store, definition: Definitions) -> str:
    """A new session, which begins at once."""
    return await sessions.start(store, "bench", definition, "go")


@asynccontextmanager
async def connected(settings: Settings) -> AsyncGenerator[reads.Store]:
    """A connection of our own beside the orchestrator's."""
    store = aio(settings)
    try:
        yield store
    finally:
        await store.aclose()
