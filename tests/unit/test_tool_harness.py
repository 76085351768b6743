"""The harness: what an author can find out about a tool without a server."""

import asyncio
from typing import NoReturn

import pytest

from errands_config.wire import CallState, Deferral
from errands_workers import ToolContext, ToolHarness, tool


@tool
def greet(ctx: ToolContext, name: str) -> str:
    """Greet somebody."""
    ctx.progress("looking")
    ctx.progress(done=1, total=2)
    ctx.notify(f"found {name}")
    return f"hello {name}"


@tool
async def greet_later(name: str) -> dict[str, str]:
    """Greet somebody after a while."""
    await asyncio.sleep(0)
    return {"hello": name}


@tool
def wait_for_it(ctx: ToolContext) -> None:
    """Wait for a long time."""
    ctx.sleep(60)


@tool
def look_at_it(ctx: ToolContext) -> str:
    """Go on until asked to stop."""
    while not ctx.cancelled:
        pass
    ctx.raise_if_cancelled()
    return "never"


@tool
async def wait_for_it_later() -> None:
    """Wait for a long time on the loop."""
    await asyncio.sleep(60)


@tool
async def sleep_wrongly(ctx: ToolContext) -> None:
    """Sleep so that the loop stands still."""
    ctx.sleep(0.01)


@tool
def ask(ctx: ToolContext, what: str) -> NoReturn:
    """Have somebody else decide."""
    try:
        ctx.defer(f"who may \x1b[31m{what}?", expires_seconds=60)
    except Exception:
        raise AssertionError("no tool is to swallow it by accident") from None


@tool
async def ask_later(ctx: ToolContext) -> NoReturn:
    """Have somebody else decide, on the loop."""
    await asyncio.sleep(0)
    ctx.defer("anybody")


async def test_a_tool_that_leaves_its_call_to_others_shows_on_what_terms():
    trial = ToolHarness().call_sync(ask, {"what": "deploy"})
    assert trial.deferral == Deferral(kind="tool", reason="who may deploy?", expires_seconds=60)
    assert (trial.outcome.state, trial.outcome.reason) == (CallState.DEFERRED, "who may deploy?")
    later = await ToolHarness().call(ask_later, {})
    assert later.deferral == Deferral(kind="tool", reason="anybody")
    assert ToolHarness().call_sync(greet, {"name": "Ada"}).deferral is None


def test_a_sync_tool_can_be_tried_without_a_loop():
    trial = ToolHarness().call_sync(greet, {"name": "Ada"})
    assert trial.result == "hello Ada"
    assert trial.progress == ["looking", {"done": 1, "total": 2}]
    assert trial.notifies == ["found Ada"]


def test_what_a_tool_printed_can_be_read_in_whole_lines():
    @tool
    def build(ctx: ToolContext) -> str:
        """Build it."""
        ctx.output("compiling\x1b[0m")
        ctx.output("linking\nsigning\n")
        return "built"

    assert ToolHarness().call_sync(build, {}).output == "compiling\nlinking\nsigning\n"
    assert ToolHarness().call_sync(greet, {"name": "Ada"}).output == ""


async def test_both_kinds_can_be_tried_in_a_loop():
    harness = ToolHarness()
    assert (await harness.call(greet, {"name": "Ada"})).result == "hello Ada"
    assert (await harness.call(greet_later, {"name": "Ada"})).result == {"hello": "Ada"}


def test_an_async_tool_can_be_tried_without_a_loop():
    assert ToolHarness().call_sync(greet_later, {"name": "Ada"}).result == {"hello": "Ada"}


def test_arguments_are_checked_as_on_a_worker():
    outcome = ToolHarness().call_sync(greet, {"name": 1}).outcome
    assert (outcome.state, outcome.error) == (
        CallState.FAILED,
        "invalid arguments: name: Input should be a valid string",
    )


@pytest.mark.parametrize("waiting", [wait_for_it, look_at_it, wait_for_it_later])
async def test_a_cancelled_call_is_left_at_once(waiting: object):
    trial = await ToolHarness(cancel_after=0.01).call(waiting, {})  # pyright: ignore[reportArgumentType]
    assert trial.outcome.state == CallState.CANCELLED


def test_a_call_that_ended_before_its_cancel_is_completed():
    assert ToolHarness(cancel_after=30).call_sync(greet, {"name": "Ada"}).outcome.state == CallState.COMPLETED


def test_a_failure_says_what_the_model_would_read():
    @tool
    def broken() -> None:
        """Fail."""
        raise LookupError("nobody there")

    outcome = ToolHarness().call_sync(broken, {}).outcome
    assert (outcome.error, outcome.error_kind) == ("LookupError: nobody there", "LookupError")


async def test_a_blocking_sleep_on_the_loop_is_told_what_to_do_instead():
    outcome = (await ToolHarness().call(sleep_wrongly, {})).outcome
    assert "await asyncio.sleep" in outcome.error
