"""`errands demo`: a scripted agent uses real tools in the background, told turn by turn."""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from errands_config.agent import Agent, parse_agent
from errands_config.errors import ConfigError
from errands_config.settings import load_settings
from errands_orchestrator.cli.connecting import reached

EXAMPLES = Path(__file__).parents[3] / "examples" / "demo"
"""Beside the source; a wheel does not have it."""
AGENT = "agent.json"
SCRIPT = "script.json"
Folder = Annotated[Path, Parameter(help="The demo's folder, `examples/demo` of the Errands repository.")]


def demo(*, folder: Folder = EXAMPLES) -> int:
    """Watch an agent that has a test suite and a linter run in the background. Needs no key and leaves nothing behind.

    The model is a script; store, worker, queue and tools are real.
    """
    from errands_orchestrator.cli.telling import told_run  # imported here: an orchestrator takes a second

    agent = scripted_agent(folder)
    with tempfile.TemporaryDirectory(prefix="errands-demo-", ignore_cleanup_errors=True) as home:
        settings = load_settings().model_copy(update={"redis_url": None, "home": Path(home) / "home"})
        with reached(settings) as there:
            return asyncio.run(told_run(there, agent, folder))


def scripted_agent(folder: Path) -> Agent:
    """The demo's agent with a script for a model. Raises ConfigError where the demo is not there."""
    file = folder / AGENT
    if not file.is_file():
        raise ConfigError(
            f"there is no demo in {folder}: get the Errands repository and run `make demo` there, or name its "
            "examples/demo with --folder"
        )
    written = {**json.loads(file.read_bytes()), "flavor": "Scripted", "modelUrl": SCRIPT}
    return parse_agent(json.dumps(written), origin=str(file))
