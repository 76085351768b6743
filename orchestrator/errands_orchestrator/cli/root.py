"""The commands and where they live. Nothing but the command that was asked for is imported.

`worker` is named as text: the two sides never import one another.
"""

from __future__ import annotations

from importlib.metadata import version

from cyclopts import App

from errands_orchestrator.cli.exit_codes import exit_table

_HERE = "errands_orchestrator.cli"

root = App(
    name="errands",
    help="An LLM agent's tool calls, run by Celery workers while the model goes on.",
    help_epilogue=exit_table(),
    help_format="plaintext",
    version=lambda: version("errands"),
)

_RUN = """Run an agent on a prompt and print its answer.

Uses the store of ERRANDS_REDIS_URL, else an embedded one in ERRANDS_HOME. A worker is started if none offers the \
agent's tools. Running calls are shown on stderr. Ctrl-C cancels the run and keeps the session; twice: leaves at once.
"""

_COMMANDS: tuple[tuple[str, str, str], ...] = (
    ("demo", f"{_HERE}.demo:demo", "Watch a scripted agent use real tools in the background; needs no key."),
    ("run", f"{_HERE}.run:run", _RUN),
    ("worker", "errands_workers.worker_command:worker", "Run tools for agents, until it is told to stop."),
    ("orchestrator", f"{_HERE}.orchestrator:serve", "Step sessions, until it is told to stop."),
    ("doctor", f"{_HERE}.doctor:doctor", "Look for what is wrong with the store, the workers and this installation."),
    ("agent", f"{_HERE}.agent:agent_commands", "Check agent files, print their schema, list known agents."),
    ("tools", f"{_HERE}.tools:tool_commands", "List what live workers offer; call one tool."),
    ("calls", f"{_HERE}.calls:call_commands", "List, show, follow and cancel tool calls."),
    ("session", f"{_HERE}.session:session_commands", "List, print, resume and cancel sessions."),
)

for _name, _where, _help in _COMMANDS:
    root.command(_where, name=_name, help=_help)
