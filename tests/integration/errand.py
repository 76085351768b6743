"""A whole errand in one process: an agent, a model that is a function, an orchestrator; and what came of it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from itertools import count
from typing import Any, cast

import redis.asyncio
from tests.integration.fake_worker import offer
from tests.waiting import aeventually

from errands_config import keys
from errands_config.agent import Agent, parse_agent
from errands_config.settings import Settings
from errands_config.wire import CallState, ToolOffer
from errands_orchestrator import reads, sessions
from errands_orchestrator.brief import Toolset
from errands_orchestrator.definitions import MakeModel, StoredAgent, definitions
from errands_orchestrator.models.function import FunctionModel
from errands_orchestrator.models.model import ModelCall, Reply
from errands_orchestrator.models.seen import SeenMessage
from errands_orchestrator.ownership import Ownership
from errands_orchestrator.service import orchestrator
from errands_orchestrator.session import Entry, ToolsEntry, UserEntry
from errands_orchestrator.transcript import Transcript

Answer = Callable[[Sequence[SeenMessage]], Reply | Awaitable[Reply]]
STATUS, RUNNING, CANCEL = "get-tool-call-status", "list-running-tool-calls", "cancel-tool-call"


def make_agent(**more: Any) -> Agent:
    """An asynchronous agent; the tools `work` and `slow` run in the background, every other one is waited for."""
    background = {"tag": "runAsync"}
    written = {
        "slug": "runner",
        "executionMode": "asynchronous",
        "asyncYieldStrategy": "yieldOnAnyProgress",
        "toolCallPolicyConfig": {
            "default": {"tag": "runSync"},
            "rules": [{"tool": tool, "disposition": background} for tool in ("work", "slow")],
        },
    }
    return parse_agent(json.dumps(written | more), origin="a test")


async def begin(store: redis.asyncio.Redis, text: str = "go", *tools: str | ToolOffer, **agent: Any) -> str:
    """Start a session of `make_agent(**agent)` with these tools; its id."""
    made = make_agent(**agent)
    offers = tuple(one if isinstance(one, ToolOffer) else offer(one) for one in tools or ("work", "slow", "wait"))
    stored = StoredAgent(file=made.canonical)
    return await sessions.start(store, made.slug, definitions(stored, Toolset(offers)), text)


def answering(answer: Answer) -> MakeModel:
    """Every agent's model is this function of the messages."""
    model = FunctionModel(answer)
    return lambda agent, script: (model, "function")


def orchestrating(settings: Settings, answer: Answer, **more: Any) -> AbstractAsyncContextManager[Ownership]:
    """An orchestrator whose model is this function."""
    return orchestrator(settings, logs=False, make_model=answering(answer), **more)


_IDS = count(1)


def call(tool: str, provider_id: str = "", **arguments: Any) -> ModelCall:
    return ModelCall(provider_id or f"call_{next(_IDS)}", tool, json.dumps(arguments, separators=(",", ":")))


def calls(*made: ModelCall, text: str = "") -> Reply:
    return Reply(text, made, "tool_calls")


# ---- what came of it


async def events_of(store: redis.asyncio.Redis, sid: str, kind: str = "") -> list[dict[str, str]]:
    """A session's events, all or of one kind."""
    found = cast("list[tuple[str, dict[str, str]]]", await store.xrange(keys.events(sid)))
    return [fields for _, fields in found if not kind or fields["kind"] == kind]


async def run_ended(store: redis.asyncio.Redis, *sids: str, times: int = 1, within: float = 15) -> None:
    """Wait until each of these sessions has ended that many runs and is parked."""

    async def ended() -> bool:
        runs = [len(await events_of(store, sid, "run.ended")) for sid in sids]
        parked = [await sessions.status_of(store, sid) in ("idle", "paused") for sid in sids]
        return all(parked) and min(runs) >= times

    await aeventually(ended, within=within, saying=f"{times} runs of {len(sids)} sessions ended")


async def event_came(store: redis.asyncio.Redis, sid: str, kind: str, times: int = 1) -> list[dict[str, str]]:
    """Wait until there are that many events of a kind; all of them."""

    async def came() -> list[dict[str, str]]:
        found = await events_of(store, sid, kind)
        return found if len(found) >= times else []

    return await aeventually(came, saying=f"{times} {kind}")


async def log_of(store: redis.asyncio.Redis, sid: str) -> tuple[Entry, ...]:
    return await sessions.entries_of(store, sid)


async def shown(store: redis.asyncio.Redis, sid: str) -> str:
    """All that the model was shown in user and tool messages."""
    entries = await log_of(store, sid)
    users = [entry.text for entry in entries if isinstance(entry, UserEntry)]
    tools = [message.text for entry in entries if isinstance(entry, ToolsEntry) for message in entry.messages]
    return "\n".join(users + tools)


async def faults_of(store: redis.asyncio.Redis, sid: str) -> list[str]:
    """What is wrong with a session whose run has ended: its log as messages, its calls, its ends, its mailbox."""
    faults: list[str] = []
    Transcript.of("", await log_of(store, sid)).messages()  # raises if it could not be sent
    events = await events_of(store, sid)
    for cid in await sessions.call_ids(store, sid):
        ends = [one["kind"] for one in events if one.get("tool_call_id") == cid and _is_end(one["kind"])]
        record = await reads.whole(store, keys.call(cid))
        if ends != [f"tool_call.{record['state']}"]:
            faults.append(f"{cid} is {record['state']} and ended as {ends}")
    if await store.xlen(keys.mail(sid)):
        faults.append("unread mail")
    return faults


def _is_end(kind: str) -> bool:
    state = kind.removeprefix("tool_call.")
    return state in set(CallState) and CallState(state).is_final


async def leftovers(store: redis.asyncio.Redis) -> dict[str, int]:
    """The indexes that hold something although every run has ended."""
    held: dict[str, int] = {"due": await store.zcard(keys.DUE), "watch": await store.zcard(keys.WATCH)}
    for queue in await reads.members(store, keys.QUEUES):
        held |= {f"queued:{queue}": await store.zcard(keys.queued(queue)), queue: await cast("Any", store.llen(queue))}
    for worker in (*await reads.ranked(store, keys.WORKERS), *await reads.ranked(store, keys.SETTLED)):
        held[f"calls of {worker}"] = len(await reads.whole(store, keys.worker_calls(worker)))
        held[f"wishes of {worker}"] = len(await reads.whole(store, keys.wishes(worker)))
    return {name: number for name, number in held.items() if number}
