"""Compaction: results that the model has acted on, in one line each. The log keeps them whole. Pure.

An entry of the log says from where on: whoever makes messages of the log begins with what that entry says.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from errands_orchestrator.brief import Brief
from errands_orchestrator.event_style import reader_of, summary_of
from errands_orchestrator.session import (
    AssistantEntry,
    CompactionEntry,
    Entry,
    Session,
    ToolMessage,
    ToolsEntry,
    UserEntry,
)
from errands_orchestrator.texts import RUN_AGAIN_LINE


def compacted(brief: Brief, session: Session) -> tuple[Session, CompactionEntry | None]:
    """A compaction, if enough turns have passed for one: of all but the newest ones, and rarely, because the endpoint
    has to read the conversation anew."""
    kept = brief.agent.delivery.compact_after_turns
    if kept is None or session.turn - session.compacted < 2 * kept:
        return session, None
    upto = session.turn - kept
    # what the calls of a turn brought was acted on by the answer behind it
    entry = CompactionEntry(before=upto + 1, read_with=reader_of(brief.agent.capabilities))
    return replace(session, compacted=upto), entry


def has_compaction(entries: Iterable[Entry]) -> bool:
    """Whether some of what stands before these entries is to be shown in short."""
    return any(isinstance(entry, CompactionEntry) for entry in entries)


def as_seen(log: Sequence[Entry]) -> list[Entry]:
    """A log from its beginning as the model sees it: what its newest compaction means is in short, all else whole."""
    newest = next((entry for entry in reversed(log) if isinstance(entry, CompactionEntry)), None)
    if newest is None:
        return list(log)
    seen: list[Entry] = []
    answers = 0
    for entry in log:
        answers += isinstance(entry, AssistantEntry)
        seen.append(_in_short(entry, newest.read_with) if answers < newest.before else entry)
    return seen


def _in_short(entry: Entry, read_with: str) -> Entry:
    match entry:
        case UserEntry(short=short) if short:
            return replace(entry, text=short)
        case ToolsEntry(messages=messages):
            return ToolsEntry(tuple(_message_in_short(message, read_with) for message in messages))
        case _:
            return entry


def _message_in_short(message: ToolMessage, read_with: str) -> ToolMessage:
    """The mail that stands behind a result stays whole, and so does a placeholder."""
    if message.placeholder:
        return message
    size = len(message.text) - message.mail
    own, mail = message.text[:size], message.text[size:]
    note = RUN_AGAIN_LINE if own.startswith(RUN_AGAIN_LINE) else ""
    return replace(message, text=note + in_short(own.removeprefix(note), message.call, read_with) + mail)


def in_short(text: str, call: str, read_with: str) -> str:
    """A result in one line; as it is where that is no longer. `call`: our id, which no other call of the conversation
    has; empty for an answer about calls."""
    rest = f"; {read_with}({call}) reads the rest" if read_with and call else ""
    line = f"{summary_of(text)} [in short{rest}]"
    return line if len(line) < len(text) else text
