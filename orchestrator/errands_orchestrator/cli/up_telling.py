"""Where the news of `errands up` goes: a terminal with the status in its last line, plain lines, or JSON lines."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.live import Live
from rich.text import Text

from errands_config.text import for_terminal
from errands_orchestrator.cli.display import terminal
from errands_orchestrator.cli.output import print_text, say
from errands_orchestrator.cli.up_news import News, Status

PLAIN_SECONDS = 5.0
"""Time between two lines about the status for a person off a terminal; a program is told of every change."""
REDRAWS_A_SECOND = 4


class Telling(Protocol):
    """Takes news."""

    def tell(self, news: News) -> None:
        """Tell it once."""
        ...

    def show(self, status: Status) -> None:
        """Show how things are now."""
        ...


class LineTelling:
    """A line for each piece of news, and for the status where it has changed, but not more often than told."""

    def __init__(
        self, write: Callable[[News], None], pause_seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._write = write
        self._pause_seconds = pause_seconds
        self._clock = clock
        self._shown: Status | None = None
        self._since = 0.0

    def tell(self, news: News) -> None:
        """Write it."""
        self._write(news)

    def show(self, status: Status) -> None:
        """Write it if it has changed and the last one is old enough; at once if the store went or came."""
        before = self._shown
        passed = self._clock() - self._since >= self._pause_seconds
        if before is None or before.store != status.store or (before != status and passed):
            self._shown, self._since = status, self._clock()
            self._write(status)


class TerminalTelling:
    """Lines above, and the status below them in its place."""

    def __init__(self, console: Console, live: Live) -> None:
        self._console = console
        self._live = live

    def tell(self, news: News) -> None:
        """Write it above the status."""
        self._console.print(Text(for_terminal(news.line)))

    def show(self, status: Status) -> None:
        """Put it in the place of the last one. It is drawn by the live display's own thread."""
        self._live.update(Text(status.line, no_wrap=True, overflow="ellipsis"))


@contextmanager
def telling(*, as_json: bool) -> Generator[Telling]:
    """The one that fits: `as_json` on stdout, else where stderr goes."""
    console = terminal()
    if as_json:
        yield LineTelling(lambda news: print_text(news.model_dump_json()), 0)
    elif console is None:
        yield LineTelling(lambda news: say(news.line), PLAIN_SECONDS)
    else:
        with Live(console=console, refresh_per_second=REDRAWS_A_SECOND, transient=True) as live:
            yield TerminalTelling(console, live)
