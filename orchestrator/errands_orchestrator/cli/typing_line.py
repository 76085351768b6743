"""The bottom of a terminal at which somebody sits: the block of what runs, and below it a line to type in.

What is half typed stays as it is, whatever is written above and however often the block changes.
"""

from __future__ import annotations

import asyncio
import io
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, redirect_stderr, suppress
from typing import TextIO

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.data_structures import Size
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import create_input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import BufferControl, Dimension, FormattedTextControl, HSplit, Layout, Window
from prompt_toolkit.layout.processors import AfterInput, BeforeInput, ConditionalProcessor
from prompt_toolkit.output.vt100 import Vt100_Output

from errands_orchestrator.cli.display import Hear, LiveDisplay

LONGEST_REDRAW_PAUSE = 0.03
"""Seconds between two redraws when much happens."""
HINT = "say something meanwhile, or /help"
ROWS_KEPT = 4
"""Rows of the terminal that the block leaves to the line and what stands above."""


class TypingLine:
    """The block and the line, written to `out`."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._hear: Hear | None = None
        self._lines: Sequence[str] = ()
        self._buffer = Buffer(accept_handler=self._accept, history=InMemoryHistory(), multiline=False)
        self._app: Application[None] = Application(
            layout=Layout(self._rows()),
            key_bindings=_keys(),
            erase_when_done=True,
            min_redraw_interval=LONGEST_REDRAW_PAUSE,
            input=create_input(sys.stdin),
            output=Vt100_Output(out, self._size, term=os.environ.get("TERM"), enable_bell=False, enable_cpr=False),
        )
        self._closed = False

    def _size(self) -> Size:
        size = os.get_terminal_size(self._out.fileno())
        return Size(rows=size.lines or 24, columns=size.columns or 80)

    def _rows(self) -> HSplit:
        block = FormattedTextControl(self._block, focusable=False)
        hint = ConditionalProcessor(AfterInput(HINT, style="fg:ansibrightblack"), Condition(lambda: not self.typed))
        line = BufferControl(self._buffer, input_processors=[BeforeInput("> "), hint])
        return HSplit(
            [
                Window(block, height=self._block_height, wrap_lines=False),
                Window(line, height=Dimension(min=1), wrap_lines=True, dont_extend_height=True),
            ]
        )

    def _block(self) -> str:
        return "\n".join(self._shown())

    def _block_height(self) -> Dimension:
        return Dimension.exact(len(self._shown()))

    def _shown(self) -> Sequence[str]:
        return fitting(self._lines, self._size().rows - ROWS_KEPT)

    def _accept(self, buffer: Buffer) -> bool:
        if self._hear:
            self._hear(buffer.text)
        return self._hear is None  # False: the line is empty again

    def listen(self, hear: Hear) -> None:
        """Give each line that is typed from now on to `hear`."""
        self._hear = hear

    @property
    def typed(self) -> str:
        """What stands in the line."""
        return self._buffer.text

    def draw(self, lines: Sequence[str]) -> None:
        """Make the block these lines."""
        self._lines = lines
        self._app.invalidate()

    def write(self, text: str) -> None:
        """Put words above the block."""
        if self._app.is_running:
            self._app.renderer.erase()
        self._out.write(f"{text}\n")
        self._out.flush()
        self._app.invalidate()

    async def run(self) -> None:
        """Show it and take lines until `close`, or until the terminal says that nothing more will be typed."""
        if not self._closed:
            with suppress(EOFError):
                await self._app.run_async(set_exception_handler=False, handle_sigint=False)

    def close(self) -> None:
        """Take no more lines."""
        self._closed = True
        if self._app.future and not self._app.future.done():
            self._app.exit()


def fitting(lines: Sequence[str], rows: int) -> Sequence[str]:
    """The lines that fit into so many rows, at least two; the last of them says how many more there are."""
    rows = max(2, rows)
    if len(lines) <= rows:
        return lines
    return [*lines[: rows - 1], f"… ({len(lines) - rows + 1} more)"]


def _keys() -> KeyBindings:
    keys = KeyBindings()
    keys.add("c-c")(_interrupted)
    keys.add("c-z")(_suspended)
    keys.add("c-d")(_ignored)
    return keys


def _interrupted(_: KeyPressEvent) -> None:
    signal.raise_signal(signal.SIGINT)


def _suspended(event: KeyPressEvent) -> None:
    event.app.suspend_to_background()


def _ignored(_: KeyPressEvent) -> None:
    """An empty line is no reason to leave."""


class _Above(io.TextIOBase):
    """Stands for stderr meanwhile: whole lines go above the block."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._part = ""

    def write(self, text: str, /) -> int:
        *lines, self._part = (self._part + text).split("\n")
        for line in lines:
            self._write(line)
        return len(text)


@asynccontextmanager
async def typing_line() -> AsyncGenerator[LiveDisplay]:
    """A display on which somebody types, inside the block. What was half typed at the end is said, and not sent."""
    line = TypingLine(sys.stderr)
    shown = LiveDisplay(line.write, line.draw, line.listen)
    with redirect_stderr(_Above(line.write)):
        running = asyncio.create_task(line.run())
        try:
            yield shown
            shown.close()
        finally:
            line.close()
            await running
    if line.typed:
        shown.say(f"not sent: {line.typed}")
