"""Tools with arguments that a test binds, which say everything that they were given wherever they can."""

import json
import sys
from typing import Any

from errands_workers import ToolContext, tool


@tool
def tell(ctx: ToolContext, token: str, place: str, text: str = "", unit: str = "none") -> Any:
    """Tell all of it."""
    ctx.progress({"with": token, "as": json.dumps({"token": token})})
    ctx.progress(f"with {token}")
    ctx.notify(f"used {token}")
    print("on stdout", token)
    print("on stderr", token, file=sys.stderr)
    return {
        "text": text, "token": token, "again": json.dumps({"token": token}), "units": len(unit), "length": len(place),
        "whole": len(token),
    }  # fmt: skip


@tool
async def refuse(token: str) -> str:
    """Fail, and say with what."""
    raise ValueError(f"401 for {token}")


@tool
def measure(unit: str = "none", place: str = "nowhere") -> str:
    """Say in which unit, and how long the place's name is."""
    return f"{unit} {len(place)}"
