"""A person at a shell: runs `errands` as a process and reads what it prints."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from tests.stub import STUB_KEY, StubServer
from tests.waiting import eventually

from errands_config.settings import Settings
from errands_orchestrator.cli import run_command

COMMAND = (sys.executable, "-c", "from errands_orchestrator.cli import main; main()")
"""The program `errands`, also where it is not installed beside the interpreter."""


@dataclass(frozen=True)
class Done:
    """What a command left."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its standard output as one JSON document."""
        return json.loads(self.out)


class Typed:
    """A command that runs."""

    def __init__(self, process: subprocess.Popen[str], out: Path, err: Path) -> None:
        self.process = process
        self._out, self._err = out, err

    @property
    def err(self) -> str:
        """What it has said so far."""
        return self._err.read_text()

    @property
    def out(self) -> str:
        """What it has printed so far."""
        return self._out.read_text()

    def says(self, text: str, within: float = 30) -> None:
        """Wait until it has said this on stderr."""
        eventually(
            lambda: text in self.err or self.process.poll() is not None, within=within, saying=f"{text!r} is said"
        )
        assert text in self.err

    def press_ctrl_c(self) -> None:
        """As the terminal does it."""
        self.process.send_signal(signal.SIGINT)

    def done(self, within: float = 30) -> Done:
        """Wait for its end."""
        code = self.process.wait(within)
        return Done(code, self._out.read_text(), self.err)


@dataclass(frozen=True)
class Person:
    """Where somebody is, and what their environment holds."""

    folder: Path
    environment: dict[str, str]
    began: list[subprocess.Popen[str]] = field(default_factory=list[subprocess.Popen[str]])
    """Every command that was typed."""

    @classmethod
    def at(cls, folder: Path) -> Person:
        """Somebody in a folder with no settings at all."""
        # the size of a terminal is the terminal's to say
        foreign = ("ERRANDS_", "OPENAI_", "COLUMNS", "LINES")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        return cls(folder, {**kept, "ERRANDS_HOME": str(folder / "home"), "NO_PROXY": "127.0.0.1"})

    def having(self, **variables: str) -> Person:
        """The same person with more in the environment."""
        return replace(self, environment={**self.environment, **variables})

    def with_store(self, settings: Settings) -> Person:
        """The same person with a store."""
        return self.having(ERRANDS_REDIS_URL=settings.redis_url or "")

    def with_model(self, stub: StubServer) -> Person:
        """The same person with a model endpoint."""
        return self.having(OPENAI_BASE_URL=stub.url, OPENAI_API_KEY=STUB_KEY, ERRANDS_MODEL="stub")

    def begins(self, *words: str) -> Typed:
        """Type a command and do not wait for it."""
        number = len(list(self.folder.glob("*.out")))
        out, err = self.folder / f"{number}.out", self.folder / f"{number}.err"
        with out.open("w") as to_out, err.open("w") as to_err:
            process = subprocess.Popen(
                [*COMMAND, *words],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=to_out,
                stderr=to_err,
                text=True,
            )
        self.began.append(process)
        return Typed(process, out, err)

    def leave(self) -> None:
        """Nothing that was typed goes on."""
        for process in self.began:
            process.kill()
            process.wait()

    def types(self, *words: str, within: float = 60) -> Done:
        """Type a command and wait for its end."""
        return self.begins(*words).done(within)


class Here:
    """A person whose commands run inside this process: for what starts nothing, and need not wait for imports."""

    def __init__(self, person: Person, patch: pytest.MonkeyPatch, captured: pytest.CaptureFixture[str]) -> None:
        patch.chdir(person.folder)
        for name in [name for name in os.environ if name.startswith(("ERRANDS_", "OPENAI_"))]:
            patch.delenv(name)
        for name, value in person.environment.items():
            patch.setenv(name, value)
        self.folder = person.folder
        self._patch = patch
        self._captured = captured

    def having(self, **variables: str) -> Here:
        """The same with more in the environment, from now on."""
        for name, value in variables.items():
            self._patch.setenv(name, value)
        return self

    def types(self, *words: str) -> Done:
        """Type a command."""
        self._captured.readouterr()
        code = run_command(words)
        printed = self._captured.readouterr()
        return Done(code, printed.out, printed.err)


def agent_file(path: Path, **more: Any) -> Path:
    """An agent file whose tools are those of the deployment's worker, all in the background."""
    agent = {
        "slug": "tester",
        "executionMode": "asynchronous",
        "asyncYieldStrategy": "yieldOnAnyProgress",
        "tools": ["bash_fake"],
        "toolCallPolicyConfig": {"default": {"tag": "runAsync"}},
    }
    path.write_text(json.dumps({**agent, **more}))
    return path
