"""How a fault is timed: the process that is to suffer is stopped on its way, in the window that is aimed at."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from tests.faults.kit.conversation import Endpoint
from tests.faults.kit.kinds import Window
from tests.faults.kit.link import Caught, Side, Trap
from tests.faults.kit.member import Member
from tests.faults.kit.processes import owner_of_port
from tests.faults.kit.timeline import Timeline

PATIENCE_SECONDS = 2.5

_COMMANDS: Mapping[Window, tuple[tuple[str, Side], ...]] = {
    Window.PUBLISHED: (("claim", "request"),),
    Window.CLAIMED: (("claim", "answer"),),
    Window.DEFERRED: (("defer", "answer"),),
    Window.FINISHED: (("finish", "request"), ("finish", "answer")),
    Window.MAIL: (("", "push"), ("", "push"), ("acquire", "request")),
    Window.COMMITTED: (("commit", "answer"),),
}
"""The scripts whose command, or whose answer, passes while a window is open. No script: what an owner hears of mail."""
_OWNERS = "errands:owner:"
"""How the name of every channel of an owner begins."""


@dataclass(frozen=True, slots=True)
class Held:
    """A process that stands in the window: `caught` is what it had sent; None if it was not stopped by a trap."""

    member: Member
    trap: Trap | None = None
    caught: Caught | None = None
    script: str = ""

    def names(self, id: str) -> bool:  # noqa: A002
        """Whether what was caught is about this call or session."""
        return self.caught is not None and id.encode() in self.caught.command

    @property
    def pid(self) -> int | None:
        """The process whose command was caught."""
        return owner_of_port(self.caught.link.client_port, self.member.everything()) if self.caught else None

    def let_go(self) -> None:
        """Let the command go on, if its connection still exists."""
        if self.trap:
            self.member.relay.let_go(self.trap)


class Ambush:
    """Lies in wait for one process."""

    def __init__(self, shas: Mapping[str, str], endpoint: Endpoint, timeline: Timeline, numbers: Random) -> None:
        self._shas = shas
        self._endpoint = endpoint
        self._timeline = timeline
        self._numbers = numbers

    def lie(self, member: Member, window: Window) -> Held:
        """Wait a while for the process to come into the window."""
        if window is Window.SENT:
            self._timeline.wait(PATIENCE_SECONDS, lambda: self._endpoint.is_asked_by(member.name))
            return Held(member)
        if window is Window.RUNNING:
            return Held(member)
        script, side = self._numbers.choice(_COMMANDS[window])
        return self._caught(member, script, side)

    def _caught(self, member: Member, script: str, side: Side) -> Held:
        trap = member.relay.trap(self._shas[script] if script else _OWNERS, side)
        give_up = time.monotonic() + PATIENCE_SECONDS
        caught = self._timeline.await_result(trap.caught, give_up - time.monotonic())
        return Held(member, trap, caught, script)
