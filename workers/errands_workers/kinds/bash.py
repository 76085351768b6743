"""Executables as tools: one process a call, in a session of its own, ended with everything that it began."""

from __future__ import annotations

import errno
import functools
import json
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import jsonschema_rs

from errands_config.errors import InvalidArguments
from errands_config.text import cap
from errands_config.wire import CallState, Outcome
from errands_workers.attempt import Attempt, failed
from errands_workers.context import Reports
from errands_workers.kinds.command_line import CommandLine, command_line
from errands_workers.kinds.describe import Description, describe, flaw_of, schema_of
from errands_workers.kinds.environment import clean_environment
from errands_workers.kinds.kind import Run
from errands_workers.kinds.program import environment_of, failure_of, start
from errands_workers.kinds.script_run import ScriptRun

_TOLD_BYTES = 2_000
_UNSEEN = ("env", "stdin")
"""How an argument is handed over so that nobody else on the host sees it."""


@dataclass(frozen=True, slots=True)
class BashTool:
    """An executable, as it described itself when the worker started. Made by `bash_tool`."""

    path: Path
    said: Description
    cwd: Path | None
    max_stored_bytes: int
    parameters: str
    _validator: jsonschema_rs.Validator = field(repr=False)
    reports_per_second: float = 2.0
    retries: int = 0

    @property
    def description(self) -> str:
        """In the script's own words."""
        return self.said.description

    def unfit_for_secrets(self, arguments: Collection[str]) -> str:
        """Everybody on the host can read a command line, so a secret is handed over in a variable or on stdin."""
        open_ones = [one.name for one in self.said.args if one.name in arguments and one.mode not in _UNSEEN]
        if not open_ones:
            return ""
        return (
            f"{', '.join(open_ones)}: a secret on the command line of {self.said.tool_name} could be read by "
            'everybody on the host; have its `describe` say "mode": "env" or "stdin"'
        )

    def prepare(self, arguments: str) -> Run:
        """Check the arguments against the script's schema and put them into a command line."""
        return functools.partial(_run, self, command_line(self.said, _checked(arguments, self._validator)))


def bash_tool(path: Path, cwd: Path | None, max_stored_bytes: int) -> BashTool:
    """Ask an executable what it is; ConfigError if it cannot be a tool."""
    said = describe(path, clean_environment(os.environ), cwd)
    schema = schema_of(said)
    text = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    return BashTool(path, said, cwd, max_stored_bytes, text, jsonschema_rs.validator_for(schema))


def _checked(arguments: str, validator: jsonschema_rs.Validator) -> Mapping[str, Any]:
    try:
        values = json.loads(arguments, parse_constant=_refuse)
        errors = [_told(error) for error in validator.iter_errors(values)]
    except (ValueError, RecursionError) as broken:
        raise InvalidArguments(f"invalid arguments: not valid JSON: {broken}") from None
    if errors:
        raise InvalidArguments(cap(f"invalid arguments: {'; '.join(errors)}", _TOLD_BYTES))
    return values


def _told(error: jsonschema_rs.ValidationError) -> str:
    place = ".".join(map(str, error.instance_path))
    return f"{place}: {error.message}" if place else error.message


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")


def _run(tool: BashTool, line: CommandLine, attempt: Attempt, reports: Reports) -> Outcome:
    if flaw := flaw_of(tool.path):
        return failed(f"{tool.path.name} cannot be started: {flaw}", "cannot be started")
    try:
        process = start(tool.path, line.words, environment_of(attempt, line.variables), tool.cwd)
    except OSError as unable:
        attempt.end()
        if unable.errno == errno.E2BIG:
            raise InvalidArguments("invalid arguments: too large for this mode") from None
        return failed(f"{tool.path.name} cannot be started: {unable.strerror}", "cannot be started")
    with ScriptRun(process, line.stdin, attempt, reports, tool.max_stored_bytes) as run:
        run.follow()
    return failure_of(process.returncode, run) or _completed(tool.said, run)


def _completed(said: Description, run: ScriptRun) -> Outcome:
    text = run.stdout.text().removesuffix("\n")
    return Outcome(state=CallState.COMPLETED, result=text or said.when_empty)
