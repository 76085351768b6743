"""The hooks that a worker can ask: executables in its own folders, and its own tools, each by name.

A hook that cannot be asked, or does not answer as it should, is a HookFailed; nothing else comes out of here.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from errands_config.errors import ToolError
from errands_config.text import cap, fits
from errands_config.wire import CallState, Hook, Outcome
from errands_workers.attempt import Attempt, failed
from errands_workers.context import Reports
from errands_workers.kinds.describe import flaw_of
from errands_workers.kinds.kind import Run, RunEnd, Runnable
from errands_workers.kinds.program import environment_of, failure_of, start
from errands_workers.kinds.script_run import ScriptRun

HOOK_SECONDS = 30.0
"""Longest time that a hook may take."""
MOST_OF_AN_ANSWER = 1024 * 1024
"""Bytes."""
_TOO_LARGE = "its answer is larger than 1 MiB"
_TOLD_BYTES = 2_000


class HookFailed(Exception):
    """A hook did not do its part. The text is for the model."""

    def __init__(self, detail: str, kind: str) -> None:
        """`kind` goes into logs: nothing of a call's content may be in it."""
        super().__init__(cap(detail, _TOLD_BYTES))
        self.kind = kind


class Hooks:
    """Finds hooks by their names."""

    def __init__(
        self, folders: Sequence[Path], tools: Mapping[str, Runnable], *, longest_seconds: float = HOOK_SECONDS
    ) -> None:
        self._folders = folders
        self._tools = tools
        self.longest_seconds = longest_seconds

    def run_of(self, hook: Hook, question: bytes) -> Run:
        """What asks a hook this. Its own news are nobody's. Raises HookFailed."""
        if hook.kind == "tool":
            return self._tool(hook.name, question)
        return functools.partial(_run, self._executable(hook.name), question)

    def _tool(self, name: str, question: bytes) -> Run:
        tool = self._tools.get(name)
        if tool is None:
            raise HookFailed(f"hook {name}: this worker has no such tool", "no such tool")
        try:
            return tool.prepare(question.decode())
        except ToolError as unfit:
            raise HookFailed(f"hook {name}: {unfit}", "invalid arguments") from None

    def _executable(self, name: str) -> Path:
        """A file that lies in a folder of hooks itself. What is named by anything but a plain name is nowhere."""
        is_plain = Path(name).name == name and name not in ("", ".", "..")
        paths = [folder / name for folder in self._folders] if is_plain else []
        path = next((path for path in paths if os.path.exists(path)), None)
        if path is None or path.resolve().parent != path.parent.resolve():
            raise HookFailed(f"hook {name}: not in the folders of hooks of this worker (--hooks)", "no such hook")
        if flaw := flaw_of(path):
            raise HookFailed(f"hook {name}: {flaw}", "cannot be started")
        return path


def _run(path: Path, question: bytes, attempt: Attempt, reports: Reports) -> Outcome:
    try:
        process = start(path, (), environment_of(attempt, {}))
    except OSError as unable:
        attempt.end()
        return failed(f"cannot be started: {unable.strerror}", "cannot be started")
    with ScriptRun(process, question, attempt, reports, MOST_OF_AN_ANSWER) as run:
        run.follow()
    return failure_of(process.returncode, run) or _said(run)


def _said(run: ScriptRun) -> Outcome:
    data = run.stdout.whole()
    if data is None:
        return failed(_TOO_LARGE, "answer too large")
    try:
        return Outcome(state=CallState.COMPLETED, result=data.decode())
    except UnicodeDecodeError:
        return failed("its answer is not UTF-8 text", "unreadable answer")


def answer_of(hook: Hook, end: RunEnd) -> str:
    """The JSON text that a hook has answered. Raises HookFailed if it has answered nothing."""
    if not isinstance(end, Outcome):
        raise HookFailed(f'hook {hook.name}: a tool that is a hook answers {{"action": "defer"}}', "deferred itself")
    if end.state != CallState.COMPLETED:
        raise HookFailed(f"hook {hook.name}: {end.error}", end.error_kind)
    if not fits(end.result, MOST_OF_AN_ANSWER):
        raise HookFailed(f"hook {hook.name}: {_TOO_LARGE}", "answer too large")
    return end.result


def label_of(hook: Hook) -> str:
    """How a hook is named in approvals and logs: `command approve`."""
    return f"{hook.kind} {hook.name}"
