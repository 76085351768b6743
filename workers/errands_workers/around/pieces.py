"""What runs in a call's time, piece by piece: the tries of its tool, its hooks, and the pauses between them.

Each piece is watched in its own right. It ends by itself, or because its own time is over, after which something else
may follow, or because the whole call is to end. Whatever it began is gone before anything follows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from errands_config.errors import ToolError
from errands_config.wire import CallState, Outcome
from errands_workers.attempt import Attempt, Stop, failed, stopped_outcome
from errands_workers.context import Reports
from errands_workers.kinds.kind import Run, RunEnd


@dataclass(frozen=True, slots=True, eq=False)
class Within:
    """A time that one or several pieces have in common. `deadline` is a reading of `time.monotonic`."""

    deadline: float
    overdue: Outcome
    """How the call is recorded if it runs into the deadline and goes on, whatever is done to stop it."""


class Overdue(Exception):
    """A piece ran into this time, which is not the whole call's, and has ended."""

    def __init__(self, within: Within) -> None:
        super().__init__()
        self.within = within


class CallOver(Exception):
    """Something has ended the whole call: nothing may follow."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__()
        self.outcome = outcome


class Piece(Attempt):
    """One piece, as the supervisor and the tool see it."""

    def __init__(self, whole: Attempt, within: Within, *, ends_call: bool) -> None:
        """`ends_call`: its time is that of the whole call."""
        super().__init__(whole.claimed, whole.queue, whole.holder, whole.offspring, whole.leaving)
        self.within = within
        self.deadline = within.deadline
        self._ends_call = ends_call

    @property
    def is_overdue(self) -> bool:
        """Whether its own time is over, and no more than that."""
        by_its_own = self.stop is not None and self.stop.why == "timed_out" and not self.stop.by
        return by_its_own and not self._ends_call

    def as_stopped(self) -> Outcome:
        """How the call is recorded if it ends with this piece."""
        return self.within.overdue if self.is_overdue else super().as_stopped()


class Pieces:
    """Runs the pieces of one call, in the thread that runs the call."""

    def __init__(
        self,
        attempt: Attempt,
        watching: Callable[[Attempt], AbstractContextManager[None]],
        ready: Callable[[], None],
    ) -> None:
        """`ready` is called before each piece, `watching` is the context in which a piece runs."""
        self._attempt = attempt
        self._watching = watching
        self._ready = ready
        self.whole = Within(attempt.deadline, stopped_outcome(attempt.claimed, Stop("timed_out")))
        """The time of the whole call."""

    def run(self, run: Run, within: Within, reports: Reports) -> RunEnd:
        """Run one piece to its end. Raises Overdue and CallOver."""
        piece = self._begun(within)
        try:
            with self._watching(piece):
                try:
                    end = run(piece, reports)
                except ToolError as unfit:
                    end = failed(str(unfit), "invalid arguments")
                finally:
                    piece.end()
        finally:
            piece.offspring.kill()
        if piece.stop:
            self._stopped(piece)
        return end

    def pause(self, seconds: float, within: Within) -> None:
        """Let time pass. Raises Overdue and CallOver."""
        if seconds > 0:
            self.run(_waiting(seconds), within, SILENT)

    def _begun(self, within: Within) -> Piece:
        piece = Piece(self._attempt, within, ends_call=within is self.whole)
        self._attempt.piece = piece
        if self._attempt.stop:
            raise CallOver(self._attempt.as_stopped())
        if time.monotonic() >= within.deadline:
            piece.ask_to_stop(Stop("timed_out"))
            self._stopped(piece)
        self._ready()
        return piece

    def _stopped(self, piece: Piece) -> None:
        if piece.given_up or not piece.is_overdue:
            raise CallOver(piece.as_stopped())
        raise Overdue(piece.within)


class _Silence:
    """Takes reports and keeps none."""

    def progress(self, payload: object) -> None:
        """What a hook says of itself is not the call's progress."""

    def notify(self, text: str) -> None:
        """Nor is it for the model."""

    def output(self, text: str) -> bool:
        """Nor is what it prints."""
        return False


SILENT = _Silence()


def _waiting(seconds: float) -> Run:
    def wait(attempt: Attempt, _: Reports) -> Outcome:
        with attempt.stoppable(_nothing_to_press, seconds):
            attempt.stopped.wait(seconds)
            attempt.end()
        return Outcome(state=CallState.COMPLETED)

    return wait


def _nothing_to_press() -> None:
    """Whoever waits has been told."""
