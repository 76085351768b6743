"""How each piece of news reads: late results as notices, mail with its head."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from errands_config.text import cap, clean, framed
from errands_config.wire import Mail
from errands_orchestrator.brief import Brief
from errands_orchestrator.event_style import notification
from errands_orchestrator.session import Pending, TrackedCall
from errands_orchestrator.texts import ALREADY_KNOWN, RUN_AGAIN, end_text, notice_word

FINISHED = "Background tool calls finished since their placeholder responses:"
FINISHED_EARLIER = "Background tool calls from earlier in this conversation finished:"

_UNCOUNTED = ("toolCallFinished", "continuationResult")
"""Letters that the bound of the mailbox does not count."""


def pending(brief: Brief, mail: Mail, sender: TrackedCall | None, place: int) -> Pending:
    """A mail as it will be shown. `sender` is the tracked call that sent it, if one did; `place`: where it stands among
    all that came."""
    shown = _shown(brief, mail, sender)
    return replace(shown, interrupt=mail.priority == "interrupt", exempt=mail.kind in _UNCOUNTED, came=place)


def _shown(brief: Brief, mail: Mail, sender: TrackedCall | None) -> Pending:
    max_bytes = brief.agent.delivery.max_result_bytes
    whole = clean(mail.text).text
    if mail.kind == "userMessage":
        # a person's words are never cut
        return Pending("user", framed(whole))
    text = framed(cap(whole, max_bytes))
    match mail.kind:
        case "toolCallNotify":
            return Pending("notify", _notify(brief, mail, sender, text))
        case "toolCallFinished" if mail.outcome:
            head = f"[mail {mail.id} from tool call {mail.call}]"
            said = f"tool call {mail.call} {notice_word(mail.outcome.state)}:\n{end_text(mail.outcome, max_bytes)}"
            return Pending("mail", f"{head}\n{said}")
        case "continuationResult":
            return Pending("mail", f"[mail {mail.id} from user]\n{text}")
        case _:
            wish = ", expects reply" if mail.expects_reply else ""
            return Pending("mail", f"[mail {mail.id} from session {mail.sender}{wish}]\n{text}")


def _notify(brief: Brief, mail: Mail, sender: TrackedCall | None, text: str) -> str:
    if brief.agent.delivery.style == "event":
        return notification(sender, mail.call, text, brief.agent.capabilities)
    name = f"{sender.provider_id} ({sender.name})" if sender else mail.call
    return f"[mail {mail.id} from tool call {mail.call}]\ntool call {name} notifies:\n{text}"


def buried(calls: Iterable[TrackedCall]) -> tuple[TrackedCall, ...]:
    """These calls, whose placeholders have something of weight behind them now."""
    return tuple(replace(call, buried=True) for call in calls)


def notice_of(call: TrackedCall) -> str:
    """The end of a call as a notice tells it."""
    note = f" ({RUN_AGAIN})" if call.reran else ""
    head = f"tool_call_id {call.provider_id} ({call.name}) {notice_word(call.state)}{note}:"
    return f"{head} {ALREADY_KNOWN[call.known]}" if call.known else f"{head}\n{call.text}"


def heading_of(brief: Brief, call: TrackedCall) -> str:
    """What stands over a call's end; empty where nothing does."""
    delivery = brief.agent.delivery
    own = delivery.templates.buried if call.buried else delivery.templates.newest
    if own is not None:
        handle = call.handle or call.provider_id
        return own.format(id=call.provider_id, name=call.name, state=notice_word(call.state), handle=handle)
    if delivery.style == "event":
        return ""
    return FINISHED_EARLIER if call.buried else FINISHED
