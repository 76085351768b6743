"""What a client raises where the command line has an exit code for how a run stands.

ErrandsError
└── RunFailed              the run gave no answer
    ├── RunPaused          it stands still and can be resumed (exit 8)
    └── RunCancelled       somebody cancelled it (exit 9)
"""

from __future__ import annotations

from errands_config.errors import ErrandsError


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
