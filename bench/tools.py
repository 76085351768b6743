"""The tool of the product's side: as trivial as the baseline's task."""

import time

from errands_workers.tool import tool


@tool
def bench_nothing(text: str) -> str:
    """Give the text back.

    Args:
        text: Any text.
    """
    return text


@tool
def bench_sleep(seconds: float) -> str:
    """Sleep.

    Args:
        seconds: How long.
    """
    time.sleep(seconds)
    return "slept"
