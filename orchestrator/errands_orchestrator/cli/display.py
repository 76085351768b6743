"""How a run is shown while it goes on: live on a terminal, in plain lines elsewhere; always on stderr."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.live import Live
from rich.text import Text

from errands_config.text import for_terminal
from errands_orchestrator.cli.board import Board, BoardCall
from errands_orchestrator.cli.output import say

REDRAWS_A_SECOND = 10
PLAIN_SECONDS = 2.0
"""Time between two plain lines about the progress of one call."""


class Display(Protocol):
    """Where a run is shown."""

    def say(self, text: str) -> None:
        """Show some words: of the model, or to the person."""
        ...

    def show(self, board: Board) -> None:
        """Show what runs now."""
        ...


class PlainDisplay:
    """Lines, one for each change."""

    def __init__(self, write: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._write = write
        self._clock = clock
        self._shown: dict[str, tuple[BoardCall, float]] = {}

    def say(self, text: str) -> None:
        """Show some words."""
        self._write(for_terminal(text))

    def show(self, board: Board) -> None:
        """Show the calls that changed; their progress not more often than every `PLAIN_SECONDS`."""
        for call in board.calls:
            before, since = self._shown.get(call.id, (None, 0.0))
            passed = self._clock() - since >= PLAIN_SECONDS
            if before is None or before.state != call.state or (before != call and passed):
                self._shown[call.id] = (call, self._clock())
                self._write(call.line)


class LiveDisplay:
    """A block below the words that changes in its place, at most `REDRAWS_A_SECOND` times a second."""

    def __init__(self, console: Console, live: Live) -> None:
        self._console = console
        self._live = live
        self._board = Board("")

    def say(self, text: str) -> None:
        """Show some words above the block."""
        self._console.print(Text(for_terminal(text)))

    def show(self, board: Board) -> None:
        """Change the block. What leaves it stays above as a line."""
        kept = {call.id for call in board.calls}
        for call in self._board.calls:
            if call.id not in kept:
                self.say(call.line)
        self._board = board
        # drawn by the live display's own thread, which looks that often and no more
        self._live.update(Text("\n".join(board.lines), no_wrap=True, overflow="ellipsis"))

    def close(self) -> None:
        """Leave what has ended as lines; the block goes."""
        for call in self._board.calls:
            if call.state.is_final:
                self.say(call.line)


@contextmanager
def display() -> Generator[Display]:
    """The display that fits where stderr goes."""
    console = Console(
        file=sys.stderr, highlight=False, markup=False, emoji=False, no_color=bool(os.environ.get("NO_COLOR"))
    )
    if not sys.stderr.isatty() or console.is_dumb_terminal:
        yield PlainDisplay(say)
        return
    with Live(console=console, refresh_per_second=REDRAWS_A_SECOND, transient=True) as live:
        shown = LiveDisplay(console, live)
        yield shown
        shown.close()
