"""The user message of a request: texts of people, late results, mail, in this order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from errands_config.text import cap, clean, framed
from errands_config.wire import Mail
from errands_orchestrator.session import Pending, Session, ToolsEntry, TrackedCall, UserEntry
from errands_orchestrator.texts import RUN_AGAIN, end_text, notice_word

FINISHED = "Background tool calls finished since their placeholder responses:"
FINISHED_EARLIER = "Background tool calls from earlier in this conversation finished:"

_UNCOUNTED = ("toolCallFinished", "continuationResult")
"""Letters that the bound of the mailbox does not count."""

_KNOWN = {
    "read": "result already read with get-tool-call-status",
    "waited": "result already given by wait-for-tool-calls",
    "stopped": "already reported by cancel-tool-call",
}


def pending(mail: Mail, sender: TrackedCall | None, max_bytes: int) -> Pending:
    """A mail as it will be shown. `sender` is the tracked call that sent it, if one did."""
    shown = _shown(mail, sender, max_bytes)
    return replace(shown, interrupt=mail.priority == "interrupt", exempt=mail.kind in _UNCOUNTED)


def _shown(mail: Mail, sender: TrackedCall | None, max_bytes: int) -> Pending:
    whole = clean(mail.text).text
    if mail.kind == "userMessage":
        # a person's words are never cut
        return Pending("user", framed(whole))
    text = framed(cap(whole, max_bytes))
    match mail.kind:
        case "toolCallNotify":
            name = f"{sender.provider_id} ({sender.name})" if sender else mail.call
            return Pending("notify", f"[mail {mail.id} from tool call {mail.call}]\ntool call {name} notifies:\n{text}")
        case "toolCallFinished" if mail.outcome:
            head = f"[mail {mail.id} from tool call {mail.call}]"
            said = f"tool call {mail.call} {notice_word(mail.outcome.state)}:\n{end_text(mail.outcome, max_bytes)}"
            return Pending("mail", f"{head}\n{said}")
        case "continuationResult":
            return Pending("mail", f"[mail {mail.id} from user]\n{text}")
        case _:
            wish = ", expects reply" if mail.expects_reply else ""
            return Pending("mail", f"[mail {mail.id} from session {mail.sender}{wish}]\n{text}")


def with_mail(session: Session, entry: ToolsEntry) -> tuple[Session, ToolsEntry]:
    """Append the mail that waits to the last result among these tool messages, if there is one.

    What people say is no mail here: in a tool message it would be data.
    """
    mail = [item for item in session.inbox if item.kind != "user"]
    results = [place for place, message in enumerate(entry.messages) if not message.placeholder]
    if not (mail and results):
        return session, entry
    last = results[-1]
    text = "\n\n".join([entry.messages[last].text, *(item.text for item in mail)])
    messages = (*entry.messages[:last], replace(entry.messages[last], text=text), *entry.messages[last + 1 :])
    left = tuple(item for item in session.inbox if item.kind == "user")
    return replace(session, inbox=left, heard=session.heard + _counted(mail)), ToolsEntry(messages)


def _counted(items: Iterable[Pending]) -> int:
    return sum(not item.exempt for item in items)


def with_user_message(session: Session) -> tuple[Session, UserEntry | None]:
    """Turn all that waits to be said into one message; None if there is nothing.

    Calls whose end it tells are no longer tracked; the others are buried by a person's words.
    """
    told = sorted((call for call in session.calls if call.is_final), key=lambda call: call.ended)
    people = [item.text for item in session.inbox if item.kind == "user"]
    mail = [item.text for item in session.inbox if item.kind != "user"]
    parts = [*people, *_late_results(told), *mail]
    if not parts:
        return session, None
    calls = tuple(call for call in session.calls if not call.is_final)
    heard = session.heard + _counted(session.inbox)
    left = replace(session, calls=buried(calls) if people else calls, inbox=(), heard=heard)
    return left, UserEntry("\n\n".join(parts), from_person=bool(people))


def buried(calls: Iterable[TrackedCall]) -> tuple[TrackedCall, ...]:
    """These calls, whose placeholders have something of weight behind them now."""
    return tuple(replace(call, buried=True) for call in calls)


def _late_results(told: list[TrackedCall]) -> list[str]:
    parts: list[str] = []
    for head, section in (
        (FINISHED_EARLIER, [call for call in told if call.buried]),
        (FINISHED, [call for call in told if not call.buried]),
    ):
        if section:
            parts += [head, *(_block(call) for call in section)]
    return parts


def _block(call: TrackedCall) -> str:
    note = f" ({RUN_AGAIN})" if call.reran else ""
    head = f"tool_call_id {call.provider_id} ({call.name}) {notice_word(call.state)}{note}:"
    return f"{head} {_KNOWN[call.known]}" if call.known else f"{head}\n{call.text}"
