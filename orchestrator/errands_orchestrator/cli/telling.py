"""The demo's run: the same parts as any other, but told on stdout as a story."""

from __future__ import annotations

from pathlib import Path

from errands_config.agent import Agent
from errands_config.store import aio
from errands_orchestrator import reads, sessions
from errands_orchestrator.cli.connecting import Reached
from errands_orchestrator.cli.demo import AGENT
from errands_orchestrator.cli.exit_codes import Exit
from errands_orchestrator.cli.following import Point, Seen, events_after
from errands_orchestrator.cli.narration import BEGINNING, ENDING, narrated, news_of
from errands_orchestrator.cli.output import print_text
from errands_orchestrator.cli.own_log import own_log
from errands_orchestrator.cli.tools_at_hand import tools_at_hand
from errands_orchestrator.definitions import definitions, stored
from errands_orchestrator.service import orchestrator
from errands_orchestrator.session import AssistantEntry

PROMPT = "Is this project ready for a release? Run the tests and the linter, and look for flaky tests if there is time."


async def told_run(there: Reached, agent: Agent, folder: Path) -> Exit:
    """Run the demo's agent and tell the story. Exit code 1 if the run does not complete."""
    print_text(BEGINNING)
    async with (
        aio(there.settings) as store,
        tools_at_hand(store, there, agent, folder / AGENT) as at_hand,
    ):
        made_of = definitions(stored(agent, folder), at_hand.tools)
        sid = await sessions.start(store, agent.slug, made_of, PROMPT)
        with own_log(there.settings.home):
            async with orchestrator(there.settings, only=sid, logs=False):
                completed = await _told(store, there, sid)
        print_text(ENDING)
    return Exit.OK if completed else Exit.RUN_FAILED


async def _told(store: reads.Store, there: Reached, sid: str) -> bool:
    shown = 0
    async for seen in events_after(there, sid, Point().event):
        if news := news_of(seen.kind, seen.facts):
            print_text(news)
        shown = await _entries(store, sid, seen, shown)
        if seen.kind in ("run.ended", "run.paused"):
            return seen.facts.get("status") == "completed"
    raise AssertionError("events never end")


async def _entries(store: reads.Store, sid: str, seen: Seen, shown: int) -> int:
    """Tell what a request or an answer has added to the log; answers how much of the log has been told."""
    if seen.kind not in ("turn.started", "turn.completed"):
        return shown
    for entry in await sessions.entries_of(store, sid, shown):
        is_answer = isinstance(entry, AssistantEntry)
        if is_answer != (seen.kind == "turn.completed"):
            break
        print_text(narrated(entry, int(seen.facts["turn"])))
        shown += 1
        if is_answer:
            break
    return shown
