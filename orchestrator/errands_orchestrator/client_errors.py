"""What a client raises where the command line has an exit code for how a run stands.

ErrandsError
└── RunFailed              the run gave no answer
    ├── RunPaused          it stands still and can be resumed (exit 8)
    ├── RunCancelled       somebody cancelled it (exit 9)
    └── BlockedOnDeferredCalls   only somebody outside can make it go on (exit 6)
"""

from __future__ import annotations

from collections.abc import Sequence

from errands_config.errors import ErrandsError
from errands_orchestrator.pending import PendingCall


class RunFailed(ErrandsError):
    """A run gave no answer. `session` is its session's id, which is kept; `cause` says why, in a few words."""

    def __init__(self, message: str, *, session: str, cause: str) -> None:
        super().__init__(message)
        self.session = session
        self.cause = cause


class RunPaused(RunFailed):
    """A run stands still: its endpoint, its key, a defect or a person paused it. `Client.resume` goes on."""

    def __init__(self, session: str, cause: str) -> None:
        super().__init__(
            f"the run of session {session} is paused: {cause}. The session is kept; resume it once that is mended.",
            session=session,
            cause=cause,
        )


class RunCancelled(RunFailed):
    """Somebody cancelled the run. The session is kept; a message to it begins another run."""

    def __init__(self, session: str) -> None:
        super().__init__(f"the run of session {session} was cancelled", session=session, cause="cancelled")


class BlockedOnDeferredCalls(RunFailed):
    """A run waits for somebody outside and for nothing else. `calls` are what it waits for.

    The session is kept: end the calls, or give leave for them, then go on with `Client.resume`.
    """

    def __init__(self, session: str, calls: Sequence[PendingCall]) -> None:
        names = ", ".join(f"{waiting.call.tool} ({waiting.call.provider_id})" for waiting in calls)
        super().__init__(
            f"the run of session {session} waits for somebody outside: {names}",
            session=session,
            cause="waiting for deferred tool calls",
        )
        self.calls = tuple(calls)
