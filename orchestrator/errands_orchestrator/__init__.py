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
    from errands_orchestrator.client_errors import BlockedOnDeferredCalls, RunCancelled, RunFailed, RunPaused
    from errands_orchestrator.client_events import Event
    from errands_orchestrator.client_runs import Run
    from errands_orchestrator.deferred import Resolution
    from errands_orchestrator.pending import PendingCall

__all__ = [
    "BlockedOnDeferredCalls",
    "CallRow",
    "Cancellation",
    "Client",
    "Event",
    "PendingCall",
    "Resolution",
    "Run",
    "RunCancelled",
    "RunFailed",
    "RunPaused",
    "Sent",
]

_WHERE = {
    "BlockedOnDeferredCalls": "client_errors",
    "CallRow": "calls",
    "Cancellation": "client_calls",
    "Client": "client",
    "Event": "client_events",
    "PendingCall": "pending",
    "Resolution": "deferred",
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
