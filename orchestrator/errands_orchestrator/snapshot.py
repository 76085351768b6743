"""Session and log entries as JSON text, and back."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, TypeAdapter

from errands_orchestrator.session import Entry, Session

_SESSION = TypeAdapter(Session)
_ENTRY: TypeAdapter[Entry] = TypeAdapter(Annotated[Entry, Field(discriminator="kind")])


def dump_session(session: Session) -> str:
    """The snapshot that a commit writes. What is as a new session has it is left out."""
    return _SESSION.dump_json(session, exclude_defaults=True).decode()


def load_session(text: str | bytes) -> Session:
    """The session of a snapshot. Raises pydantic.ValidationError for anything else."""
    return _SESSION.validate_json(text)


def dump_entry(entry: Entry) -> str:
    """One entry of the log as it is stored."""
    return _ENTRY.dump_json(entry).decode()


def load_entry(text: str | bytes) -> Entry:
    """A stored entry of the log. Raises pydantic.ValidationError for anything else."""
    return _ENTRY.validate_json(text)
