"""The digest: one short block about outstanding work, at the end of a message that is sent anyway. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from errands_config.wire import CallState
from errands_orchestrator.brief import Brief
from errands_orchestrator.capabilities.offers import LIST_RUNNING
from errands_orchestrator.session import Session, TrackedCall, UserEntry
from errands_orchestrator.texts import word

OUTSTANDING = "Background tool calls still outstanding:"
"""Begins like all that Errands says of background calls, so that no other text can forge it."""
MOST_CALLS = 20
"""Calls that one digest names, the oldest of those that are open."""
SAID_AGAIN_AFTER = 10
"""Turns after which a digest is sent again although nothing in it has changed."""


@dataclass(frozen=True, slots=True)
class Outstanding:
    """How an open call stands, as its record says."""

    call: str
    state: CallState
    started: str = ""
    """RFC 3339, UTC; empty while nobody has begun it."""
    progress: str = ""
    """The newest report in one line."""
    question: str = ""
    """What somebody is asked by it, in one line."""


def to_survey(brief: Brief, session: Session) -> tuple[str, ...]:
    """The calls that a digest is about; none where the agent has none."""
    if not brief.agent.registry.digest:
        return ()
    return tuple(call.id for call in session.calls if not call.is_final)[:MOST_CALLS]


def with_digest(
    brief: Brief, session: Session, entry: UserEntry, outstanding: Sequence[Outstanding]
) -> tuple[Session, UserEntry]:
    """Put the digest at the end of a message, if it says something new or was not said for long."""
    lines = list(_lines(session, outstanding))
    if not lines:
        return session, entry
    left_out = sum(not call.is_final for call in session.calls) - MOST_CALLS
    if left_out > 0:
        hint = f"; {LIST_RUNNING} lists them" if LIST_RUNNING in brief.agent.capabilities else ""
        lines.append(f"- and {left_out} more{hint}")
    block = "\n".join([OUTSTANDING, *lines])
    mark = hashlib.sha256(block.encode()).hexdigest()[:16]
    if mark == session.digest_mark and session.turn < session.digest_turn + SAID_AGAIN_AFTER:
        return session, entry
    said = replace(session, digest_mark=mark, digest_turn=session.turn)
    compacts = brief.agent.delivery.compact_after_turns is not None
    short = entry.short or (entry.text if compacts else "")  # later it would tell of what is long over
    return said, replace(entry, text=f"{entry.text}\n\n{block}", short=short)


def _lines(session: Session, outstanding: Sequence[Outstanding]) -> Iterator[str]:
    tracked = {call.id: call for call in session.calls if not call.is_final}
    for one in outstanding:
        # the news of one that has ended is on its way
        if one.call in tracked and not one.state.is_final:
            yield _line(tracked[one.call], one)


def _line(call: TrackedCall, one: Outstanding) -> str:
    since = f" since {one.started}" if one.started else ""
    asks = f', asks "{one.question}"' if one.question else ""
    progress = f", last progress: {one.progress}" if one.progress else ""
    return f"- {call.handle or call.provider_id} ({call.name}): {word(one.state)}{since}{asks}{progress}"
