"""What a type checker knows of a decorated function: read by pyright, never run."""

from typing import assert_type

from errands_workers import ToolContext, tool


@tool
def count(text: str, letter: str = "e") -> int:
    """Count a letter."""
    return text.count(letter)


@tool(queue="slow", timeout=60)
async def fetch(ctx: ToolContext, name: str) -> list[str]:
    """Fetch it."""
    ctx.progress(done=1)
    ctx.output("fetched one")
    return [name]


assert_type(count("hello"), int)
assert_type(count("hello", letter="l"), int)
count(1)  # pyright: ignore[reportArgumentType]
count("hello", letters="l")  # pyright: ignore[reportCallIssue]


async def use(ctx: ToolContext) -> None:
    """An async tool stays one that is awaited."""
    assert_type(await fetch(ctx, "a"), list[str])
