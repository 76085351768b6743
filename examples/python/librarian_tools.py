"""The tool of the agent `librarian`."""

from errands_workers import ToolContext, tool


@tool
def count_words(ctx: ToolContext, text: str, seconds: float = 2) -> str:
    """Count the words of a text, slowly.

    Args:
        text: What to count.
        seconds: How long to take.
    """
    for page in range(1, 11):
        ctx.sleep(seconds / 10)
        ctx.progress(done=page, total=10)
    return f"{len(text.split())} words"
