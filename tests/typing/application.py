"""What a type checker knows of an application that uses the client: read by pyright, never run."""

from contextlib import aclosing
from pathlib import Path
from typing import assert_type

from pydantic import JsonValue

from errands_config.agent import Agent
from errands_config.settings import Settings
from errands_config.wire import CallState, Outcome
from errands_orchestrator import (
    BlockedOnDeferredCalls,
    CallRow,
    Cancellation,
    Client,
    Event,
    PendingCall,
    Resolution,
    Run,
    RunCancelled,
    RunFailed,
    RunPaused,
    Sent,
)


async def runs(settings: Settings, agent: Agent) -> None:
    """Runs and their answers."""
    async with Client(settings) as client:
        assert_type(await client.run(Path("agent.json"), "hello"), str)
        assert_type(await client.run(agent, "hello"), str)
        run = await client.run_until_blocked("librarian", "hello")
        assert_type(run, Run)
        assert_type(run.session, str)
        if run.status == "paused":
            assert_type(await client.resume(run.session, agent="agent.json"), str)


async def sessions(client: Client) -> None:
    """Sessions that somebody else steps."""
    session = await client.start("librarian")
    assert_type(session, str)
    sent = await client.send(session, "hello", interrupt=True, id="m-1")
    assert_type(sent, Sent)
    assert_type(sent.duplicate, bool)
    await client.pause(session)
    await client.cancel_run(session)


async def events(client: Client, since: str) -> None:
    """Events one after another."""
    async for event in client.events("s", since=since):
        assert_type(event, Event)
        assert_type(event.at, int)
        match event.kind:
            case "run.ended":
                break
            case "reset" | "tool_call.completed":
                continue
            case _:
                pass
    async with aclosing(client.events("s", follow=False)) as rest:
        assert_type(await anext(rest), Event)
    assert_type(await client.position("s"), str)


async def calls(client: Client) -> None:
    """Calls of a session, and one of a tool."""
    for row in await client.calls("s", limit=3):
        assert_type(row, CallRow)
        assert_type(row.state, CallState)
        assert_type(row.outcome, Outcome | None)
    told = await client.cancel("c", reason="not needed")
    assert_type(told, Cancellation)
    assert_type(await client.call_tool("count_words", {"text": "a", "pages": [1, None]}), JsonValue)


async def deferred_calls(client: Client) -> None:
    """Calls that wait for somebody outside, and what is said to them."""
    run = await client.run_until_blocked("deployer", "deploy")
    assert_type(run.pending, tuple[PendingCall, ...])
    for waiting in await client.pending(run.session, limit=3):
        assert_type(waiting.call, CallRow)
        assert_type(waiting.token, str)
        if waiting.question:
            assert_type(await client.answer(waiting.token, waiting.question.choices[0]), Resolution)
        await client.progress(waiting.call.id, {"done": 1})
        await client.notify(waiting.call.id, "half way")
        await client.approve(waiting.token, {"env": "test"})
    resolution = await client.complete("c", {"url": "https://example.org", "tries": [1, None]})
    if resolution.outcome == "mailed":
        await client.dismiss("c", "not now")
    await client.deny("c")
    await client.fail("c", "no such host")


async def failures(client: Client) -> str:
    """What a run without an answer carries."""
    try:
        return await client.run("librarian", "hello")
    except RunPaused as paused:
        assert_type(paused.session, str)
        return paused.cause
    except BlockedOnDeferredCalls as blocked:
        assert_type(blocked.calls, tuple[PendingCall, ...])
        return blocked.session
    except RunCancelled as cancelled:
        return cancelled.session
    except RunFailed as failed:
        return failed.cause
