"""`errands session`: what can be done with sessions."""

from __future__ import annotations

import asyncio
from typing import Annotated

import orjson
from cyclopts import App, Parameter

from errands_config.settings import load_settings
from errands_orchestrator import reads, sessions
from errands_orchestrator.calls import call_rows
from errands_orchestrator.capabilities.desk import when
from errands_orchestrator.cli.agent import checked_agent
from errands_orchestrator.cli.connecting import reached, with_store
from errands_orchestrator.cli.event_file import event_file
from errands_orchestrator.cli.manner import Manner
from errands_orchestrator.cli.output import AsJson, Limit, Row, print_facts, print_json, print_rows, print_text
from errands_orchestrator.cli.own_worker import OwnWorker
from errands_orchestrator.cli.run import AgentFile, LogFile, Timeout
from errands_orchestrator.cli.session_answer import answer
from errands_orchestrator.cli.session_approve import approve
from errands_orchestrator.cli.session_complete import complete
from errands_orchestrator.cli.session_deny import deny
from errands_orchestrator.cli.session_export import export
from errands_orchestrator.cli.session_fail import fail
from errands_orchestrator.cli.session_pause import pause
from errands_orchestrator.cli.session_pending import pending
from errands_orchestrator.cli.session_send import send
from errands_orchestrator.cli.session_start import start
from errands_orchestrator.cli.session_step import step
from errands_orchestrator.cli.standing import snapshot_of
from errands_orchestrator.printing import Detail, OpenCall, Printed, markdown
from errands_orchestrator.sessions import SessionRow
from errands_orchestrator.snapshot import dump_entry

session_commands = App(
    name="session",
    help="Start, step, talk to, pause, resume, cancel, list, print and export sessions; end calls that wait for you.",
    version_flags=[],
)
for _command in (start, step, send, pause, pending, complete, fail, deny, approve, answer, export):
    session_commands.command(_command)

COLUMNS = ("session_id", "agent", "status", "created_at", "updated_at", "running_calls")


@session_commands.command(name="list")
def list_sessions(*, limit: Limit = 50, as_json: AsJson = False) -> None:
    """List sessions, newest first."""
    rows = with_store(lambda store, _: sessions.rows(store, limit))
    print_rows([_fields(row) for row in rows], COLUMNS, as_json=as_json, nothing="no sessions")


def _fields(row: SessionRow) -> Row:
    return {
        "session_id": row.id,
        "agent": row.agent,
        "status": row.status,
        "created_at": when(row.created),
        "updated_at": when(row.updated),
        "running_calls": row.running_calls,
    }


@session_commands.command(name="print")
def print_session(
    session: str,
    /,
    *,
    show_tool_call_arguments: Annotated[Detail, Parameter(help="Arguments of calls.")] = "hidden",
    show_tool_call_results: Annotated[Detail, Parameter(help="Results of calls.")] = "hidden",
    as_json: AsJson = False,
) -> None:
    """Print a session as Markdown; with --json its entries whole."""
    printed = with_store(lambda store, _: _printed(store, session, show_tool_call_arguments, show_tool_call_results))
    if as_json:
        entries = [orjson.loads(dump_entry(entry)) for entry in printed.entries]
        print_json({"session_id": session, "entries": entries})
    else:
        print_text(markdown(printed))


async def _printed(store: reads.Store, sid: str, arguments: Detail, results: Detail) -> Printed:
    session, _ = await snapshot_of(store, sid)
    entries = await sessions.entries_of(store, sid)
    rows = await call_rows(store, await sessions.call_ids(store, sid))
    states = {row.id: row.state for row in rows}
    attached = [OpenCall(call.provider_id, call.name, states.get(call.id, call.state)) for call in session.attached]
    return Printed(entries, attached, states, arguments, results)


@session_commands.command
def resume(
    session: str,
    /,
    *,
    agent_file: AgentFile = None,
    timeout: Timeout = None,
    log_json_file: LogFile = None,
    as_json: AsJson = False,
) -> int:
    """Go on with a session that was left or paused, as `errands run` does. One that has its answer prints it.

    Exit code 5 if its run was cancelled, or nothing was said in it yet: `errands session send` begins one.
    """
    from errands_orchestrator.cli.resuming import resumed  # imported here: an orchestrator takes a second

    settings = load_settings()
    own = OwnWorker(checked_agent(agent_file, settings), agent_file) if agent_file else None
    with event_file(log_json_file) as log_file, reached(settings) as there:
        return asyncio.run(resumed(there, session, own, Manner(timeout, log_file, as_json)))


@session_commands.command
def cancel(session: str, /, *, as_json: AsJson = False) -> None:
    """Cancel the run that is going on in a session, and keep the session. Exit code 5 if there is none."""
    from errands_orchestrator.cli.stopping import stopped  # imported here: an orchestrator takes a second

    with reached(load_settings()) as there:
        status = asyncio.run(stopped(there, session))
    print_facts({"session_id": session, "status": status}, as_json=as_json)
