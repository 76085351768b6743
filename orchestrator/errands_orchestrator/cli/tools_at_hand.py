"""The tools of an agent before it runs: live workers offer them, or a worker of our own is started."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from errands_config.agent import Agent
from errands_config.errors import NotFound
from errands_config.glob import matches
from errands_config.wire import CallState
from errands_orchestrator import reads, sessions
from errands_orchestrator.brief import Toolset
from errands_orchestrator.calls import call_rows
from errands_orchestrator.catalogue import live_offers, tools_of
from errands_orchestrator.cli.connecting import Reached
from errands_orchestrator.cli.output import say
from errands_orchestrator.cli.own_worker import OwnWorker, Process, own_worker, workers_for


@dataclass(frozen=True, slots=True)
class AtHand:
    """An agent's tools, and the worker that was started for them; None: others offer them."""

    tools: Toolset
    worker: Process | None = None


@asynccontextmanager
async def tools_at_hand(
    store: reads.Store, there: Reached, agent: Agent, file: Path | None, hooks: tuple[Path, ...] = ()
) -> AsyncGenerator[AtHand]:
    """Have the agent's tools inside the block. Raises NotFound for what nobody offers, ConfigError as `own_worker`.

    Without its `file` no worker can be started for it. `hooks`: as `OwnWorker.hooks`.
    """
    offers = await live_offers(store)
    if not has_toolboxes(agent) or workers_for(agent.slug, offers):
        yield AtHand(await _listed(store, agent))
        return
    if file is None:
        raise NotFound(f"no live worker offers the tools of agent {agent.slug}: start one with `errands worker FILE`")
    say(f"no live worker offers the tools of agent {agent.slug}: starting one")
    async with own_worker(store, there, OwnWorker(agent, file, hooks)) as worker:
        yield AtHand(await _listed(store, agent), worker)


@asynccontextmanager
async def tools_again(
    store: reads.Store, there: Reached, sid: str, tools: Toolset, own: OwnWorker | None
) -> AsyncGenerator[Process | None]:
    """Have the tools inside the block that a session listed when it began, from a worker of our own if there is one.

    Raises NotFound for what nobody offers, if calls are open that wait for a worker. Without such calls the model may
    just have to be told something; a call that it makes then waits for a worker.
    """
    missing = tools.by_name.keys() - {live.offer.name for live in await live_offers(store)}
    if not missing:
        yield None
        return
    if own is None:
        lack = (
            f"session {sid} uses {', '.join(sorted(missing))}, which no live worker offers: start one with "
            "`errands worker FILE`, or name the agent file with --agent-file"
        )
        if await _wait_for_worker(store, sid):
            raise NotFound(lack)
        say(f"note: {lack}")
        yield None
        return
    async with own_worker(store, there, own) as worker:
        yield worker


async def _wait_for_worker(store: reads.Store, sid: str) -> bool:
    """Whether the session has calls that only a worker can end."""
    rows = await call_rows(store, await sessions.call_ids(store, sid), ends=False)
    return any(row.state in (CallState.WAITING, CallState.QUEUED, CallState.RUNNING) for row in rows)


async def _listed(store: reads.Store, agent: Agent) -> Toolset:
    """Its tools as they are offered now; every glob of its `tools` must name one."""
    tools = tools_of(agent, await live_offers(store))
    for position, glob in enumerate(agent.tools):
        if not any(matches(glob, offer.name) for offer in tools.offers):
            raise NotFound(
                f"tools[{position}]: no live worker offers a tool named {glob!r}: `errands tools list` shows what is "
                "offered, `errands worker` starts a worker"
            )
    for rule in agent.tool_call_policy_config.rules:
        if rule.tool not in tools.by_name:
            say(f"note: the policy of agent {agent.slug} has a rule for {rule.tool}, which is not among its tools")
    return tools


def has_toolboxes(agent: Agent) -> bool:
    """Whether the agent file brings tools, which a worker can be started with."""
    return bool(agent.bash_toolboxes or agent.tool_directory or agent.function_toolboxes)
