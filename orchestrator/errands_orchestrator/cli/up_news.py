"""What `errands up` has to tell: each piece of news is a JSON object, and a line for a person."""

from __future__ import annotations

import signal
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from errands_config.wire import Frozen


class Note(Frozen):
    """Something that a person should know."""

    event: Literal["note"] = "note"
    text: str

    @property
    def line(self) -> str:
        """For a person."""
        return self.text


class Published(Frozen):
    """An agent is known to the store under its slug."""

    event: Literal["published"] = "published"
    agent: str
    digest: str
    file: str

    @property
    def line(self) -> str:
        """For a person."""
        return f"agent {self.agent} is known from {self.file}"


class Started(Frozen):
    """A process was started. `log`: the file that has what it says."""

    event: Literal["started"] = "started"
    part: str
    pid: int
    log: str

    @property
    def line(self) -> str:
        """For a person."""
        return f"{self.part}: started as process {self.pid}; its log is {self.log}"


class Ready(Frozen):
    """Every agent's tools are offered."""

    event: Literal["ready"] = "ready"

    @property
    def line(self) -> str:
        """For a person."""
        return "ready; Ctrl-C stops everything"


class Died(Frozen):
    """A process ended, or was ended, that was not to. `exit_code` is -N after signal N, null where nobody knows."""

    event: Literal["died"] = "died"
    part: str
    exit_code: int | None
    last_words: str
    again_in_seconds: float

    @property
    def line(self) -> str:
        """For a person."""
        words = f"; last words: {self.last_words}" if self.last_words else ""
        again = f", starting it again in {self.again_in_seconds:g} s" if self.again_in_seconds else ", started again"
        return f"{self.part}: {_death(self.exit_code)}{again}{words}"


def _death(code: int | None) -> str:
    if code is None:
        return "died"
    return f"died with exit code {code}" if code >= 0 else f"was killed by {_signal(-code)}"


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


class Heard(Frozen):
    """A process wrote a warning or an error into its log."""

    event: Literal["log"] = "log"
    part: str
    level: str
    kind: str
    detail: str

    @property
    def line(self) -> str:
        """For a person."""
        return f"{self.part}: {self.kind}{f': {self.detail}' if self.detail else ''}"


class Stopping(Frozen):
    """Somebody asked for the end."""

    event: Literal["stopping"] = "stopping"
    busy: int
    """Calls that still run."""

    @property
    def line(self) -> str:
        """For a person."""
        if not self.busy:
            return "stopping"
        return f"stopping; calls that still run get some seconds to end: {self.busy}. Ctrl-C again ends them now"


class Stopped(Frozen):
    """A process has ended as it was told to. A worker's exit code is 1 if calls ended with it."""

    event: Literal["stopped"] = "stopped"
    part: str
    exit_code: int

    @property
    def line(self) -> str:
        """For a person."""
        return f"{self.part}: stopped" if self.exit_code == 0 else f"{self.part}: stopped, exit code {self.exit_code}"


class Status(Frozen):
    """What there is now, on the whole store."""

    event: Literal["status"] = "status"
    store: Literal["ok", "away"]
    workers: int
    """Those that beat."""
    slots: int
    busy_slots: int
    sessions_running: int
    calls_running: int
    calls_queued: int

    @property
    def line(self) -> str:
        """For a person."""
        if self.store == "away":
            return "store: away"
        return (
            f"workers: {self.workers} · slots: {self.busy_slots} of {self.slots} busy · "
            f"sessions running: {self.sessions_running} · "
            f"calls: {self.calls_running} running, {self.calls_queued} queued · store: ok"
        )


AWAY = Status(
    store="away", workers=0, slots=0, busy_slots=0, sessions_running=0, calls_running=0, calls_queued=0
)  # fmt: skip
"""Where the store does not answer, nobody knows more."""

News: TypeAlias = Annotated[
    Note | Published | Started | Ready | Died | Heard | Stopping | Stopped | Status, Field(discriminator="event")
]
"""One piece of news; with --json, one line."""
