"""What passes from the outside to the tool, and what a layer around it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from errands_workers.around.pieces import Within
from errands_workers.kinds.kind import RunEnd


@dataclass(frozen=True, slots=True)
class Given:
    """What a layer is run with."""

    arguments: str
    """JSON text of an object, as hooks see it: without what is bound."""
    within: Within


Layer: TypeAlias = Callable[[Given], RunEnd]
"""The tool, or something around it with all that is inside. Raises Overdue and CallOver."""
