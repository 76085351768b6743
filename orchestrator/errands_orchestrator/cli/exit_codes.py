"""How every command ends, in one table."""

from __future__ import annotations

from enum import IntEnum

from errands_config.errors import ConfigError, Conflict, ErrandsError, NotFound, StoreUnreachable


class Exit(IntEnum):
    """What a command tells the shell."""

    OK = 0
    RUN_FAILED = 1
    USAGE = 2
    CONFIG_INVALID = 3
    NOT_FOUND = 4
    CONFLICT = 5
    PAUSED_ON_DEFERRED_CALLS = 6
    STORE_NOT_REACHABLE = 7
    PAUSED = 8
    CANCELLED = 9
    TIMEOUT = 124
    INTERRUPTED = 130


MEANINGS: dict[Exit, str] = {
    Exit.OK: "ok",
    Exit.RUN_FAILED: "run failed",
    Exit.USAGE: "usage",
    Exit.CONFIG_INVALID: "config invalid",
    Exit.NOT_FOUND: "not found",
    Exit.CONFLICT: "conflict or already ended",
    Exit.PAUSED_ON_DEFERRED_CALLS: "paused on deferred calls",
    Exit.STORE_NOT_REACHABLE: "store not reachable",
    Exit.PAUSED: "paused for another reason and resumable",
    Exit.CANCELLED: "cancelled by somebody else",
    Exit.TIMEOUT: "timeout; the session is kept",
    Exit.INTERRUPTED: "interrupted; the session is kept",
}


class UsageError(ErrandsError):
    """A command line that cannot be understood."""


_BY_ERROR: tuple[tuple[type[ErrandsError], Exit], ...] = (
    (UsageError, Exit.USAGE),
    (ConfigError, Exit.CONFIG_INVALID),
    (NotFound, Exit.NOT_FOUND),
    (Conflict, Exit.CONFLICT),
    (StoreUnreachable, Exit.STORE_NOT_REACHABLE),
)


def exit_of(error: ErrandsError) -> Exit:
    """The exit code of an error."""
    return next((code for kind, code in _BY_ERROR if isinstance(error, kind)), Exit.RUN_FAILED)


def exit_table() -> str:
    """All exit codes with their meanings, for the help page."""
    codes = "\n".join(f"  {code.value:>3}  {meaning}" for code, meaning in MEANINGS.items())
    return f"Exit codes:\n{codes}"
