"""The deciding side: sessions, models, and `Client`, the typed Python API.

What stands here is loaded when it is first asked for: the command line imports this package and must start at once.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from errands_orchestrator.calls import CallRow
    from errands_orchestrator.client import Client, Sent
    from errands_orchestrator.client_calls import Cancellation
    from errands_orchestrator.client_errors import RunCancelled, RunFailed, RunPaused
    from errands_orchestrator.client_events import Event
    from errands_orchestrator.client_runs import Run

__all__ = ["CallRow", "Cancellation", "Client", "Event", "Run", "RunCancelled", "RunFailed", "RunPaused", "Sent"]

_WHERE = {
    "CallRow": "calls",
    "Cancellation": "client_calls",
    "Client": "client",
    "Event": "client_events",
    "Run": "client_runs",
    "RunCancelled": "client_errors",
    "RunFailed": "client_errors",
    "RunPaused": "client_errors",
    "Sent": "client",
}


if not TYPE_CHECKING:  # a type checker that saw this would take every name for an attribute

    def __getattr__(name: str) -> object:
        if name not in _WHERE:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
