"""How a run is shown while it goes on: in its place on a terminal, in plain lines elsewhere; always on stderr.

A person who sits at the terminal can type meanwhile: see `typing_line`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Protocol, TypeAlias

from rich.console import Console
from rich.live import Live
from rich.text import Text

from errands_config.text import for_terminal
from errands_orchestrator.cli.board import Board, BoardCall
from errands_orchestrator.cli.output import say

REDRAWS_A_SECOND = 10
PLAIN_SECONDS = 2.0
"""Time between two plain lines about the progress of one call."""

Hear: TypeAlias = Callable[[str], None]
"""Takes a line that was typed."""


class Display(Protocol):
    """Where a run is shown."""

    def say(self, text: str) -> None:
        """Show some words: of the model, or to the person."""
        ...

    def show(self, board: Board) -> None:
        """Show what runs now."""
        ...

    def queue(self, texts: Sequence[str]) -> None:
        """Show what a person said and the model has not had yet."""
        ...

    def listen(self, hear: Hear) -> None:
        """Give each line that is typed from now on to `hear`."""
        ...


class PlainDisplay:
    """Lines, one for each change. Nobody types where it is used."""

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

    def queue(self, texts: Sequence[str]) -> None:
        """Nothing is typed here."""

    def listen(self, hear: Hear) -> None:
        """Nothing is typed here."""


def _unheard(_: Hear) -> None:
    pass


class LiveDisplay:
    """A block below the words that changes in its place.

    `write` puts words above it, `draw` makes it these lines, `tell` says who hears what is typed, where somebody types.
    """

    def __init__(
        self,
        write: Callable[[str], None],
        draw: Callable[[Sequence[str]], None],
        tell: Callable[[Hear], None] = _unheard,
    ) -> None:
        self._write = write
        self._draw = draw
        self._tell = tell
        self._board = Board("")
        self._queued: tuple[str, ...] = ()

    def say(self, text: str) -> None:
        """Show some words above the block."""
        self._write(for_terminal(text))

    def show(self, board: Board) -> None:
        """Change the block. What leaves it stays above as a line."""
        kept = {call.id for call in board.calls}
        for call in self._board.calls:
            if call.id not in kept:
                self.say(call.line)
        self._board = board
        self._redraw()

    def queue(self, texts: Sequence[str]) -> None:
        """Show these as queued, at the end of the block."""
        self._queued = tuple(texts)
        self._redraw()

    def listen(self, hear: Hear) -> None:
        """Give each line that is typed from now on to `hear`."""
        self._tell(hear)

    def _redraw(self) -> None:
        self._draw([*self._board.lines, *(f"queued: {_on_one_line(text)}" for text in self._queued)])

    def close(self) -> None:
        """Leave what has ended as lines; the block goes."""
        for call in self._board.calls:
            if call.state.is_final:
                self.say(call.line)
        self._draw([])


def _on_one_line(text: str) -> str:
    return " ".join(for_terminal(text).split())


def terminal() -> Console | None:
    """The terminal that stderr is, if it can do more than print lines."""
    console = Console(
        file=sys.stderr, highlight=False, markup=False, emoji=False, no_color=bool(os.environ.get("NO_COLOR"))
    )
    return console if sys.stderr.isatty() and not console.is_dumb_terminal else None


def somebody_types() -> bool:
    """Whether a person sits at this process: it has a terminal to read from and to show on, and is in its foreground.

    A job in the background would be stopped by the system as soon as it read.
    """
    if not sys.stdin.isatty() or terminal() is None:
        return False
    with suppress(OSError):
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    return False


@asynccontextmanager
async def display(*, talking: bool) -> AsyncGenerator[Display]:
    """The display that fits where stderr goes. `talking`: what a person types at a terminal is heard."""
    console = terminal()
    if console is None:
        yield PlainDisplay(say)
    elif talking and somebody_types():
        from errands_orchestrator.cli.typing_line import typing_line  # imported here: most runs have nobody who types

        async with typing_line() as shown:
            yield shown
    else:
        with _looked_at(console) as shown:
            yield shown


@contextmanager
def _looked_at(console: Console) -> Generator[LiveDisplay]:
    with Live(console=console, refresh_per_second=REDRAWS_A_SECOND, transient=True) as live:

        def draw(lines: Sequence[str]) -> None:
            # drawn by the live display's own thread, which looks that often and no more
            live.update(Text("\n".join(lines), no_wrap=True, overflow="ellipsis"))

        shown = LiveDisplay(lambda text: console.print(Text(text)), draw)
        yield shown
        shown.close()
