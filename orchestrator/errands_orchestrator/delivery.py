"""One user message: what goes into it, in which order, and how much of it; the rest waits for the next. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from errands_orchestrator.attach import has_news
from errands_orchestrator.brief import Brief
from errands_orchestrator.compaction import in_short
from errands_orchestrator.event_style import event_of, reader_of
from errands_orchestrator.late_outputs import late_message
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


def with_mail(session: Session, entry: ToolsEntry, room: Room) -> tuple[Session, ToolsEntry]:
    """Append the mail that waits to the last result among these tool messages, if there is one. The request that is
    made of them takes so much less, whenever it is made.

    What people say is no mail here: in a tool message it would be data.
    """
    waiting = [item for item in session.inbox if item.kind != "user"]
    results = [place for place, message in enumerate(entry.messages) if not message.placeholder]
    if not (waiting and results):
        return session, entry
    count, left = room.taking([item.text for item in waiting])
    last = results[-1]
    text = "\n\n".join([entry.messages[last].text, *(item.text for item in waiting[:count])])
    messages = (
        *entry.messages[:last],
        replace(entry.messages[last], text=text, mail=len(text) - len(entry.messages[last].text)),
        *entry.messages[last + 1 :],
    )
    return replace(_without_mail(session, waiting[:count]), room=left), ToolsEntry(messages)


def delivered(brief: Brief, session: Session, room: Room) -> tuple[Session, tuple[ToolMessage, ...], UserEntry | None]:
    """What the next request tells, as much as there is room for: late results as messages of their own calls, where
    the model knows such, and the user message behind them. A person is heard first where there is not room for all."""
    waiting = _in_event_order(brief, session) if brief.agent.delivery.style == "event" else _in_order(brief, session)
    count, _ = room.taking(_headed((news.heading, news.text) for news in waiting))
    told = waiting[:count]
    ended = [news.of for news in told if isinstance(news.of, TrackedCall)]
    letters = [news.of for news in told if isinstance(news.of, Pending)]
    gone = {call.id for call in ended}
    calls = tuple(call for call in session.calls if call.id not in gone)
    calls = buried(calls) if _from_person(letters) else calls
    left = replace(_without_mail(session, letters), calls=calls, has_rest=has_news(calls), room=None)
    outputs = tuple(late_message(call) for call in ended if call.is_async)
    return left, outputs, _user_message([news for news in told if not _is_output(news)], letters)


def _user_message(told: Sequence[_News], letters: Sequence[Pending]) -> UserEntry | None:
    """What these pieces are together; None where there is none."""
    text = "\n\n".join(_headed((news.heading, news.text) for news in told))
    return UserEntry(text, from_person=_from_person(letters), short=_in_short(told)) if told else None


def _from_person(letters: Iterable[Pending]) -> bool:
    return any(letter.kind == "user" for letter in letters)


def _is_output(news: _News) -> bool:
    """Whether it is the message of its own call."""
    return isinstance(news.of, TrackedCall) and news.of.is_async


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
    results.sort(key=lambda news: isinstance(news.of, TrackedCall) and (news.of.is_async or not news.of.buried))
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
    """The end of a call, told in one of the styles, or where its own message is still to come by that."""
    if call.is_async:
        return _News(late_message(call).text, call)
    text, heading = told(call), heading_of(brief, call)
    if brief.agent.delivery.compact_after_turns is None:
        return _News(text, call, heading)
    line = in_short(call.text, call.id, reader_of(brief.agent.capabilities))
    short = told(replace(call, text=line))
    return _News(text, call, heading, short if short != text else "")


def _ended(session: Session) -> list[TrackedCall]:
    return sorted((call for call in session.calls if call.is_final), key=lambda call: call.ended)


def _headed(waiting: Iterable[tuple[str, str]]) -> list[str]:
    """The texts, with its heading before each that does not stand under the same one already."""
    texts: list[str] = []
    standing = ""
    for heading, text in waiting:
        texts.append(f"{heading}\n\n{text}" if heading and heading != standing else text)
        standing = heading
    return texts
