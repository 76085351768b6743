"""Two tools: a quick one for the queue `default`, a slow one that the agent's policy sends to the queue `slow`."""

from errands_workers import ToolContext, tool

STOCK = {"bolt": 1200, "nut": 840, "washer": 0}


@tool
def stock_of(part: str) -> str:
    """Say how many pieces of a part are in stock.

    Args:
        part: Name of the part, such as `bolt`.
    """
    return f"{STOCK.get(part, 0)} pieces of {part}"


@tool
def render_report(ctx: ToolContext, pages: int = 20) -> str:
    """Render the stock report. Takes about a quarter of a second a page.

    Args:
        pages: How many pages it shall have.
    """
    for page in range(1, pages + 1):
        ctx.sleep(0.25)
        ctx.progress(done=page, total=pages)
    return f"report of {pages} pages: {sum(STOCK.values())} pieces in stock"
