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
agent's tools. Running calls are shown on stderr. On a terminal a line typed meanwhile is said to the agent, !TEXT is \
heard at once, /help says more. Ctrl-C cancels the run and keeps the session; twice: leaves, a worker of its own first.
"""

_UP = """Run everything that agents need, for development: a store, a worker with their tools, an orchestrator.

Uses the store of ERRANDS_REDIS_URL, else an embedded one in ERRANDS_HOME. What others run already is not started \
twice: no worker for an agent whose tools are offered (until nobody offers them any more). An orchestrator is always \
started: any number may share the work. The agents are known by their slugs afterwards.

What dies is started again. One Ctrl-C (or SIGTERM) stops all of it in order: the orchestrator parks its sessions, \
the worker lets calls end for up to 25 s, the store goes last; a second one ends the calls. A second `errands up` in \
one ERRANDS_HOME is refused with 5. Exit code 0 if everything ended in order, 1 if calls were lost.
"""

_FLOWER = """Show workers and tasks in Flower, on web pages, until Ctrl-C. It needs `pip install 'errands[flower]'`.

It shows the broker of the settings, also the embedded store. Nothing can be changed there, and nobody gets in without \
a login: that of FLOWER_BASIC_AUTH (user:password), else one whose password is made and told on stderr. Tasks are \
named like their tools; arguments and results are not shown. It knows of calls that begin some seconds after it did. \
Further options of Flower come after `--`.
"""

_COMPLETION = """Print the script with which a shell completes commands, options and files.

bash: errands completion bash > ~/.local/share/bash-completion/completions/errands

zsh:  errands completion zsh > a folder of your $fpath/_errands

fish: errands completion fish > ~/.config/fish/completions/errands.fish

New shells know it then. For the running bash: source <(errands completion bash)
"""

_COMMANDS: tuple[tuple[str, str, str], ...] = (
    ("demo", f"{_HERE}.demo:demo", "Watch a scripted agent use real tools in the background; needs no key."),
    ("run", f"{_HERE}.run:run", _RUN),
    ("up", f"{_HERE}.up:up", _UP),
    ("worker", "errands_workers.worker_command:worker", "Run tools for agents, until it is told to stop."),
    ("orchestrator", f"{_HERE}.orchestrator:serve", "Step sessions, until it is told to stop."),
    ("flower", f"{_HERE}.flower:flower", _FLOWER),
    ("doctor", f"{_HERE}.doctor:doctor", "Look for what is wrong with the store, the workers and this installation."),
    ("agent", f"{_HERE}.agent:agent_commands", "Check and explain agent files, print their schema, list known agents."),
    ("tools", f"{_HERE}.tools:tool_commands", "List what live workers offer; call one tool."),
    ("calls", f"{_HERE}.calls:call_commands", "List, show, follow and cancel tool calls."),
    ("session", f"{_HERE}.session:session_commands", "Start, step, talk to, pause, resume, cancel and print sessions."),
    ("completion", f"{_HERE}.completion:completion", _COMPLETION),
    ("schema", f"{_HERE}.schema:schema", "Print the form of what a command prints with --json."),
)

for _name, _where, _help in _COMMANDS:
    root.command(_where, name=_name, help=_help)
