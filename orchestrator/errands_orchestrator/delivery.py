"""One user message: what goes into it, in which order, and how much of it; the rest waits for the next. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from errands_orchestrator.attach import has_news
from errands_orchestrator.brief import Brief
from errands_orchestrator.compaction import in_short
from errands_orchestrator.event_style import event_of, reader_of
from errands_orchestrator.late_outputs import late_outputs
from errands_orchestrator.notices import buried, heading_of, notice_of
from errands_orchestrator.room import Room
from errands_orchestrator.session import Pending, Session, ToolMessage, ToolsEntry, TrackedCall, UserEntry


@dataclass(frozen=True, slots=True)
class _News:
    """One piece of what is to be told: the end of a call, or a letter."""

    text: str
    of: TrackedCall | Pending
    heading: str = ""
    short: str = ""
    """The text once a compaction has come over it, where that is another one."""


def with_mail(session: Session, entry: ToolsEntry, room: Room) -> tuple[Session, ToolsEntry, Room]:
    """Append the mail that waits to the last result among these tool messages, if there is one.

    What people say is no mail here: in a tool message it would be data.
    """
    waiting = [item for item in session.inbox if item.kind != "user"]
    results = [place for place, message in enumerate(entry.messages) if not message.placeholder]
    if not (waiting and results):
        return session, entry, room
    count, left = room.taking([item.text for item in waiting])
    last = results[-1]
    text = "\n\n".join([entry.messages[last].text, *(item.text for item in waiting[:count])])
    messages = (
        *entry.messages[:last],
        replace(entry.messages[last], text=text, mail=len(text) - len(entry.messages[last].text)),
        *entry.messages[last + 1 :],
    )
    return _without_mail(session, waiting[:count]), ToolsEntry(messages), left


def delivered(brief: Brief, session: Session, room: Room) -> tuple[Session, tuple[ToolMessage, ...], UserEntry | None]:
    """What the next request tells, as much as there is room for: late results as messages of their own calls, where
    the model knows such, and the user message behind them. A person is heard first where there is not room for all."""
    left, entry, room = _with_user_message(brief, session, room)
    left, outputs, _ = late_outputs(left, room)
    return replace(left, has_rest=has_news(left.calls)), outputs, entry


def _with_user_message(brief: Brief, session: Session, room: Room) -> tuple[Session, UserEntry | None, Room]:
    """Turn what waits to be said into one message; None if there is nothing.

    Calls whose end it tells are no longer tracked; the others are buried by a person's words.
    """
    waiting = _in_event_order(brief, session) if brief.agent.delivery.style == "event" else _in_order(brief, session)
    texts = _headed((news.heading, news.text) for news in waiting)
    count, room = room.taking(texts)
    told = [news.of for news in waiting[:count]]
    ended = {it.id for it in told if isinstance(it, TrackedCall)}
    calls = tuple(call for call in session.calls if call.id not in ended)
    letters = [it for it in told if isinstance(it, Pending)]
    from_person = any(letter.kind == "user" for letter in letters)
    calls = buried(calls) if from_person else calls
    left = replace(_without_mail(session, letters), calls=calls)
    entry = UserEntry("\n\n".join(texts[:count]), from_person=from_person, short=_in_short(waiting[:count]))
    return left, entry if told else None, room


def _in_short(told: Sequence[_News]) -> str:
    """The message once a compaction has come over it; empty where it stays as it is."""
    if not any(news.short for news in told):
        return ""
    return "\n\n".join(_headed((news.heading, news.short or news.text) for news in told))


def _without_mail(session: Session, told: Sequence[Pending]) -> Session:
    gone = {id(item) for item in told}
    inbox = tuple(item for item in session.inbox if id(item) not in gone)
    return replace(session, inbox=inbox, heard=session.heard + sum(not item.exempt for item in told))


def _in_order(brief: Brief, session: Session) -> list[_News]:
    """What people said, late results, mail; of late results, those from earlier first."""
    results = [_end(brief, call, notice_of) for call in _ended(session)]
    results.sort(key=lambda news: isinstance(news.of, TrackedCall) and not news.of.buried)
    people = [_News(item.text, item) for item in session.inbox if item.kind == "user"]
    mail = [_News(item.text, item) for item in session.inbox if item.kind != "user"]
    return [*people, *results, *mail]


def _in_event_order(brief: Brief, session: Session) -> list[_News]:
    """All in the order in which it came."""
    told = partial(event_of, capabilities=brief.agent.capabilities)
    ends = [(call.ended, _end(brief, call, told)) for call in _ended(session)]
    letters = [(item.came, _News(item.text, item)) for item in session.inbox]
    return [news for _, news in sorted([*letters, *ends], key=lambda placed: placed[0])]


def _end(brief: Brief, call: TrackedCall, told: Callable[[TrackedCall], str]) -> _News:
    """The end of a call, told in one of the styles."""
    text, heading = told(call), heading_of(brief, call)
    if brief.agent.delivery.compact_after_turns is None:
        return _News(text, call, heading)
    line = in_short(call.text, call.id, reader_of(brief.agent.capabilities))
    short = told(replace(call, text=line))
    return _News(text, call, heading, short if short != text else "")


def _ended(session: Session) -> list[TrackedCall]:
    """The calls to tell of, but for those whose own message is still to come."""
    ended = (call for call in session.calls if call.is_final and not call.is_async)
    return sorted(ended, key=lambda call: call.ended)


def _headed(waiting: Iterable[tuple[str, str]]) -> list[str]:
    """The texts, with its heading before each that does not stand under the same one already."""
    texts: list[str] = []
    standing = ""
    for heading, text in waiting:
        texts.append(f"{heading}\n\n{text}" if heading and heading != standing else text)
        standing = heading
    return texts
