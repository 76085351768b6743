"""The page of events and log lines: kinds from the code's closed sets and its log calls, words from here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import get_args

from docs.generate.log_lines import log_lines_of
from docs.generate.markdown import code, codes, page, table

from errands_config import keys
from errands_config.wire import CallState
from errands_orchestrator.decisions import EventKind
from errands_orchestrator.logs import LEVELS

SESSION_FACTS = ("session_id", "conversation_id")
"""What every event carries beside its kind and time."""
CALL_FACTS = (*SESSION_FACTS, "tool_call_id", "tool", "provider_call_id", "attempt", "label")
"""What every event of a call carries; one that the model gave no id has no `provider_call_id`, and one that the policy
gave no label has no `label`."""

RUN_WORDS: Mapping[EventKind, tuple[str, Sequence[str]]] = {
    "run.started": ("Somebody said something, and the session is to answer.", ()),
    "run.ended": ("The run is over: `completed` or `cancelled`.", ("status",)),
    "run.paused": ("The session stands still until it is resumed. Its calls go on.", ("cause",)),
    "run.resumed": ("It goes on.", ()),
    "run.blocked": ("It waits for somebody outside and for nothing else: so many deferred calls.", ("calls",)),
    "turn.started": ("The model is asked.", ("turn",)),
    "turn.completed": ("It has answered: how many calls it made, and why it stopped.", ("turn", "calls", "finish")),
    "turn.restarted": ("The same turn is asked for again: after a takeover or a pause, or to say more.", ("turn",)),
    "turn.failed": ("The request failed and is sent again in a moment.", ("cause",)),
}  # fmt: skip
"""What each event of a run means, and its own facts."""

_NOT_YET = "No call ends so in this version."
CALL_WORDS: Mapping[str, tuple[str, Sequence[str]]] = {
    "queued": ("It is published: a worker may take it.", ()),
    "started": ("A worker has taken it.", ("queued_ms",)),
    "progressed": ("It reported progress; told at most five times a second, never what it said.", ("payload_bytes",)),
    "deferred": ("Somebody outside is to complete it, or to give leave for it.", ()),
    "completed": ("It has a result.", ("elapsed_ms",)),
    "failed": ("It ended without one. `error` is the kind of failure, not its text.", ("elapsed_ms", "error")),
    "timed_out": ("It ran into a limit.", ("elapsed_ms", "timeout_seconds")),
    "cancelled": ("It was stopped, or had not begun.", ("elapsed_ms", "reason", "by")),
    "orphaned": ("Its worker was lost.", ("elapsed_ms",)),
    "denied": ("Somebody outside, or a hook, said no.", ("elapsed_ms",)),
    "skipped": (_NOT_YET, ()),
    "expired": ("Nobody outside completed it in time.", ("elapsed_ms",)),
}  # fmt: skip
"""What each event of a call means, and its own facts; a call that never started has no `elapsed_ms`."""

_INTRODUCTION = f"""
Everything that happens to a session is an event in its stream: what `errands run` shows, what `--log-json-file`
writes, and what an orchestrator logs. Events carry ids, sizes and times, never arguments, results or what anybody
said. A session's newest {keys.EVENTS_KEPT:,} events are kept, and the newest {keys.ALL_EVENTS_KEPT:,} of all
sessions.
"""
_COMMON = f"""
Each has `kind`, `at` (store time, ms), {codes(SESSION_FACTS)}. `conversation_id` is the id of the root session. Each
event of a call has {codes(CALL_FACTS[2:])} too; `provider_call_id` is the id that the model gave the call, if it gave
one, and `label` the word that the policy gives it, if it gives one.
"""
_LINES = """
`errands orchestrator` prints each event of every session as one JSON line on stderr, at least once over all
orchestrators: `ts`, `kind`, `level`, then the facts; the end of a call also has `end_seq`, which is unique, so that a
line that comes twice can be told. `--log-json-file` writes the same for one session, without `ts`. A line looks like
this:
"""
_SAMPLE = (
    '{"ts":"2026-01-31T12:00:07.123Z","kind":"tool_call.completed","level":"info","session_id":"…","conversation_id":"…",'
    '"tool_call_id":"…","tool":"bash_run_tests","provider_call_id":"call_1","attempt":1,"elapsed_ms":6012,"end_seq":"…"}'
)
_OWN = """
Beside events, each process says what it meets, in lines of the same form: on stderr, or in `ERRANDS_HOME/logs` where
`errands run` started it. Lines of libraries have kind `library`, and `logger` and `message`.
"""


def events_page() -> str:
    """The page as Markdown text."""
    head = ("kind", "level", "facts of its own", "what happened")
    return page(
        "Events and log lines", _INTRODUCTION, "## Events", _COMMON,
        "### Of runs and turns", table(head, _run_rows()), "### Of calls", table(head, _call_rows()),
        "## Log lines", _LINES, f"    {_SAMPLE}",
        "## What processes say of themselves", _OWN,
        "### Orchestrator", _own("orchestrator"), "### Worker", _own("workers"),
    )  # fmt: skip


def run_kinds() -> Sequence[EventKind]:
    """The events of runs and turns."""
    return get_args(EventKind)


def call_kinds() -> Sequence[str]:
    """The events of calls, without their common beginning."""
    return ("queued", "started", "progressed", "deferred", *(str(state) for state in CallState if state.is_final))


def _run_rows() -> Iterator[Sequence[str]]:
    for kind in run_kinds():
        words, facts = RUN_WORDS[kind]
        yield _row(kind, facts, words)


def _call_rows() -> Iterator[Sequence[str]]:
    for kind in call_kinds():
        words, facts = CALL_WORDS[kind]
        yield _row(f"tool_call.{kind}", facts, words)


def _row(kind: str, facts: Sequence[str], words: str) -> Sequence[str]:
    return code(kind), LEVELS.get(kind, "info"), codes(facts) or "-", words


def _own(side: str) -> str:
    rows = [(code(line.kind), line.level, codes(line.fields) or "-", line.words) for line in log_lines_of(side)]
    return table(("kind", "level", "fields", "what it means"), rows)
