"""The tool of the agent `buyer`: workers offer it, so that the model knows its form; `complete_calls.py` does it."""

from errands_workers import tool


@tool
def order_part(part: str, pieces: int) -> dict[str, str]:
    """Order pieces of a part. Answers the order with its number.

    Args:
        part: Name of the part, such as `bolt`.
        pieces: How many.
    """
    raise RuntimeError("orders are placed outside: the agent's policy has to defer this tool")
