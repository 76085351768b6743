"""The tool of the product's side: as trivial as the baseline's task."""

from errands_workers.tool import tool


@tool
def bench_nothing(text: str) -> str:
    """Give the text back.

    Args:
        text: Any text.
    """
    return text
