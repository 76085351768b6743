"""Where a session stands for a person who wants to go on with it or stop it."""

from __future__ import annotations

from typing import Literal

from errands_config import keys
from errands_config.errors import NotFound
from errands_config.scripts.letters import read_mail
from errands_orchestrator import reads, sessions
from errands_orchestrator.session import Phase, Session
from errands_orchestrator.snapshot import load_session

Standing = Literal["going on", "paused", "completed", "cancelled", "resting", "new"]
"""`completed`, `cancelled`: no run goes on, and how the last one ended; `resting`: paused besides; `new`: none yet."""


async def standing_of(store: reads.Store, sid: str) -> Standing:
    """Where the session's run stands. Raises NotFound."""
    session, cursor = await snapshot_of(store, sid)
    if session.phase is not Phase.IDLE or await _is_spoken_to(store, session, cursor):
        return "paused" if session.is_paused else "going on"
    if session.is_paused:
        return "resting"
    if not await sessions.length_of(store, sid):
        return "new"
    events = await reads.newest(store, keys.events(sid), keys.EVENTS_KEPT)
    last = next((facts for _, facts in events if facts["kind"] == "run.ended"), {})
    return "cancelled" if last.get("status") == "cancelled" else "completed"


async def snapshot_of(store: reads.Store, sid: str) -> tuple[Session, str]:
    """The session's state and its mail cursor. Raises NotFound."""
    status, snapshot, cursor = await reads.fields(store, keys.session(sid), ("status", "snapshot", "cursor"))
    if status is None:
        raise NotFound(f"no session {sid!r}: `errands session list` lists them")
    return load_session(snapshot) if snapshot else Session(sid), cursor or "0-0"


async def _is_spoken_to(store: reads.Store, session: Session, cursor: str) -> bool:
    """Whether a person's message waits that will begin a run, now or when the session is resumed."""
    if session.is_paused and any(item.kind == "user" for item in session.inbox):
        return True
    unread = read_mail(await reads.letters_after(store, keys.mail(session.id), cursor))
    return any(letter.kind == "userMessage" for letter in unread)
