"""A session that has a long conversation behind it."""

from __future__ import annotations

from typing import Any, cast

from errands_config import keys
from errands_config.scripts import sessions as scripts
from errands_config.scripts.script import arun
from errands_config.scripts.sessions import Definitions
from errands_config.wire import CallState
from errands_orchestrator import reads, sessions
from errands_orchestrator.session import AssistantEntry, Entry, ShownCall, ToolMessage, ToolsEntry, UserEntry
from errands_orchestrator.snapshot import dump_entry

_TEXT = "The quick brown fox jumps over the lazy dog, and the dog does not mind at all. " * 5
_A_GROUP = 4
"""Messages of one exchange."""


def exchange(number: int) -> tuple[Entry, ...]:
    """Four messages: a question, a call, its result, an answer."""
    called = ShownCall(f"call_{number}", "bench_nothing", '{"text":"x"}')
    result = ToolMessage(called.id, "", called.name, CallState.COMPLETED, _TEXT)
    return UserEntry(_TEXT), AssistantEntry("", (called,)), ToolsEntry((result,)), AssistantEntry(_TEXT)


async def start_behind(store: reads.Store, definition: Definitions, messages: int) -> str:
    """A new session whose first question, sent now, makes its conversation that long: system prompt and all."""
    sid = sessions.new_id()
    await arun(store, scripts.create(sid, "bench", definition))
    entries = [dump_entry(entry) for number in range((messages - 2) // _A_GROUP) for entry in exchange(number)]
    redis = cast("Any", store)
    await redis.rpush(keys.log(sid), *entries)
    await redis.hset(keys.session(sid), "entries", len(entries))
    await sessions.send(store, sid, "go")
    return sid
