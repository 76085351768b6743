"""One run of a script, as the process that began it sees it: its streams, its news, and its end, by force if need be.

Everything here happens in one thread, in one loop around `select`. The thread that watches the call only wakes it.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import IO, Self, cast

import structlog

from errands_workers.attempt import Attempt
from errands_workers.context import Reports
from errands_workers.kinds.output import Ends, Lines, WholeLines
from errands_workers.processes import send_to_group

log = structlog.get_logger()

GRACE_SECONDS = 0.5
"""Between the request to end, which a script may obey in its own way, and the kill."""
PATIENCE_SECONDS = 15.0
"""How long the whole of it may take before it is brought to an end without the script's doing."""
_CHUNK = 65_536
_STDERR_KEPT = 65_536
_NEWS_SECONDS = 0.1
_LOOK_SECONDS = 0.02
_IDLE_SECONDS = 5.0


class ScriptRun:
    """A context manager around a started process; when it is left, nothing of the process runs any more."""

    def __init__(
        self, process: subprocess.Popen[bytes], stdin: bytes, attempt: Attempt, reports: Reports, max_bytes: int
    ) -> None:
        self.stdout = Ends(max_bytes)
        self.stderr = Ends(_STDERR_KEPT)
        self._process = process
        self._unwritten = memoryview(stdin)
        self._attempt = attempt
        self._reports = reports
        self._selector = selectors.DefaultSelector()
        self._cleanup = ExitStack()
        self._asked_at: float | None = None
        self._printed: WholeLines | None = WholeLines(max_bytes)
        """Cuts what is passed on while it runs; None once no more of it is kept."""
        self._has_news: Lines | None = None
        self._next_news = 0.0

    def __enter__(self) -> Self:
        with ExitStack() as cleanup:  # ends the process should any of this fail
            cleanup.enter_context(self._process)
            cleanup.enter_context(self._selector)
            self._attempt.offspring.began(self._process.pid)
            cleanup.callback(self._leave_nothing)
            self._watch_streams()
            self._watch_exit(cleanup)
            cleanup.enter_context(self._attempt.stoppable(self._waker(cleanup), PATIENCE_SECONDS))
            self._cleanup = cleanup.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cleanup.close()

    def follow(self) -> None:
        """Serve the process until it, and everything that it began, is over."""
        while not self._is_over():
            self._force()
            for key, _ in self._selector.select(self._pause()):
                cast("Callable[[], object]", key.data)()
            self._tell(time.monotonic())
        self._attempt.end()
        self._leave_nothing()
        self._read_what_is_left()

    def _watch_streams(self) -> None:
        assert self._process.stdout
        assert self._process.stderr
        self._watch_output(self._process.stdout, self.stdout, Lines("stdout"))
        self._watch_output(self._process.stderr, self.stderr, Lines("stderr"))
        stdin = self._process.stdin
        assert stdin
        if self._unwritten:
            os.set_blocking(stdin.fileno(), False)
            self._selector.register(stdin, selectors.EVENT_WRITE, lambda: self._write(stdin))
        else:
            stdin.close()

    def _watch_output(self, stream: IO[bytes], ends: Ends, lines: Lines) -> None:
        os.set_blocking(stream.fileno(), False)
        self._selector.register(stream, selectors.EVENT_READ, lambda: self._read(stream, ends, lines))

    def _watch_exit(self, cleanup: ExitStack) -> None:
        """Wake when the process itself ends, though something that it began may hold its streams open."""
        if hasattr(os, "pidfd_open"):
            watch = os.pidfd_open(self._process.pid)
            cleanup.callback(os.close, watch)
            self._selector.register(watch, selectors.EVENT_READ, lambda: self._selector.unregister(watch))

    def _waker(self, cleanup: ExitStack) -> Callable[[], None]:
        """What the watching thread calls to have this loop look at the attempt."""
        here, there = os.pipe()
        os.set_blocking(there, False)
        cleanup.callback(os.close, here)
        cleanup.callback(os.close, there)
        self._selector.register(here, selectors.EVENT_READ, lambda: os.read(here, _CHUNK))

        def wake() -> None:
            with suppress(BlockingIOError):
                os.write(there, b"!")

        return wake

    def _read(self, stream: IO[bytes], ends: Ends, lines: Lines) -> bool:
        """Take what there is; False if nothing more will come now."""
        try:
            data = os.read(stream.fileno(), _CHUNK)
        except BlockingIOError:
            return False
        for notify in lines.add(data) if data else lines.finish():
            self._reports.notify(notify)
        if stream is self._process.stdout:
            self._print(data)
        if not data:
            self._selector.unregister(stream)
            return False
        ends.add(data)
        self._has_news = lines if lines.last else self._has_news
        return True

    def _print(self, data: bytes) -> None:
        if self._printed is None:
            return
        lines = self._printed.add(data) if data else self._printed.finish()
        if lines and not self._reports.output(lines):
            self._printed = None

    def _write(self, stdin: IO[bytes]) -> None:
        try:
            self._unwritten = self._unwritten[os.write(stdin.fileno(), self._unwritten[:_CHUNK]) :]
        except BrokenPipeError:  # the script does not want to read it
            self._unwritten = self._unwritten[:0]
        if not self._unwritten:
            self._selector.unregister(stdin)
            stdin.close()

    def _is_over(self) -> bool:
        if self._process.poll() is None:
            return False
        graceful = self._asked_at is not None and time.monotonic() < self._asked_at + GRACE_SECONDS
        return not (graceful and self._attempt.offspring.lives())

    def _force(self) -> None:
        """Ask the process to end once the call is to stop, and end all of it when the grace is over."""
        if not self._attempt.stop:
            return
        if self._asked_at is None:
            self._asked_at = time.monotonic()
            send_to_group(self._process.pid, signal.SIGTERM)
        elif time.monotonic() >= self._asked_at + GRACE_SECONDS:
            self._leave_nothing()

    def _leave_nothing(self) -> None:
        """Kill everything that the call began."""
        mine = () if self._process.returncode is not None else (self._process.pid,)
        if not self._attempt.offspring.kill(unreaped=mine):
            log.error("worker.tool_survives_kill", tool_call_id=self._attempt.claimed.call)

    def _pause(self) -> float:
        if self._asked_at is not None:
            return _LOOK_SECONDS
        if self._has_news:
            return _NEWS_SECONDS
        return _IDLE_SECONDS if hasattr(os, "pidfd_open") else _LOOK_SECONDS

    def _tell(self, now: float) -> None:
        lines = self._has_news
        if lines and now >= self._next_news:
            self._has_news, self._next_news = None, now + _NEWS_SECONDS
            self._reports.progress(
                {"stream": lines.stream, "line": lines.last, "lines": lines.count, "bytes": lines.bytes}
            )

    def _read_what_is_left(self) -> None:
        """Empty the streams: nobody holds their other ends any more, so this does not wait."""
        for key in list(self._selector.get_map().values()):
            if key.fileobj in (self._process.stdout, self._process.stderr):
                while cast("Callable[[], bool]", key.data)():
                    pass
        self._tell(float("inf"))
