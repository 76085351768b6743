"""Tools that say in a file how often, when and with what they ran, and tools that are hooks, for both pools."""

import time
from pathlib import Path
from typing import Any, NoReturn

from errands_workers import ToolContext, tool


def _note(path: str, text: str = "ran") -> int:
    """Add a line to a file; answers how many there are."""
    with open(path, "a") as file:
        file.write(f"{text}\n")
    return len(Path(path).read_text().splitlines())


@tool(cooperative=True)
def leave_trace(path: str, text: str = "ran") -> str:
    """Leave a line."""
    _note(path, text)
    return text


@tool(cooperative=True)
def flaky(path: str, failures: int) -> str:
    """Fail so many times, and then come to an end."""
    tries = _note(path, f"{time.monotonic()}")
    if tries <= failures:
        raise ValueError(f"try {tries}")
    return f"try {tries}"


@tool(cooperative=True, retries=2, redact=("path",))
def flaky_by_nature(path: str, failures: int) -> str:
    """Do the same, with retries of its own."""
    return flaky.function(path, failures)


@tool(cooperative=True)
def slow(ctx: ToolContext, path: str, seconds: float) -> str:
    """Leave a line and take a while."""
    tries = _note(path, f"{ctx.remaining:.1f}")
    ctx.sleep(seconds)
    return f"try {tries}"


@tool(cooperative=True)
def report_for_ever(ctx: ToolContext, path: str) -> str:
    """Leave a line and go on reporting."""
    tries = _note(path)
    while True:
        ctx.progress(tries)
        ctx.sleep(0.02)


@tool(cooperative=True)
def report_and_fail(ctx: ToolContext, path: str) -> NoReturn:
    """Leave a line, and have it said a little later that this went wrong."""
    _note(path)
    ctx.sleep(0.2)
    ctx.progress("failing")
    raise ValueError("as always")


@tool(cooperative=True)
async def leave_to_others(ctx: ToolContext, path: str) -> NoReturn:
    """Have somebody outside complete the call."""
    _note(path)
    ctx.defer("the job runs elsewhere", expires_seconds=60)


@tool(cooperative=True)
def leave_to_others_sync(ctx: ToolContext) -> NoReturn:
    """Have somebody outside complete the call."""
    ctx.defer("the job\x00 runs elsewhere")


@tool(cooperative=True)
def judge(
    ctx: ToolContext,
    tool: str,
    arguments: dict[str, Any],
    session_id: str,
    tool_call_id: str,
    agent: str,
    result: Any = None,
    status: str = "",
    duration_ms: int = 0,
) -> Any:
    """Be a hook, before and after."""
    match arguments.get("text", ""):
        case "defer":
            ctx.defer("a hook must not")
        case "raise":
            raise ValueError("no opinion")
        case "large":
            return {"action": "deny", "message": "x" * 2_000_000}
        case "look":
            ctx.sleep(1000)
        case _:
            pass
    if status:
        return {"action": "annotate", "text": f"{tool} {status} {result} {agent}"}
    return '{"action": "deny", "message": "judged"}'
