"""The transitions of a session: create, acquire, renew, park, send mail. The commit has a file of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from errands_config import keys
from errands_config.scripts.letters import read_mail
from errands_config.scripts.script import Invocation, Scalar, Script
from errands_config.wire import Mail, MailKind, Priority

_WAKE = ("session", "due", "bell")
_CREATE = Script(
    "create",
    keys=("session", "mail", "sessions", "due", "bell", "agent", "toolset"),
    args=("sid", "head", "agent", "toolset", "definition_seconds", "mail_id", "text"),
    shared=("head", "wake", "mailbox"),
)
_ACQUIRE = Script(
    "acquire",
    keys=("session", "mail", "due"),
    args=("sid", "token", "channel", "lease", "named", "patient"),
    shared=("head",),
)
_RENEW = Script("renew", keys=("due",), args=("count", "lease"))
_PEEK = Script("peek", keys=("index",), args=("limit",))
_PARK = Script(
    "park",
    keys=("session", "mail", "due"),
    args=("sid", "token", "status", "moment", "lease", "offer"),
    shared=("parking",),
)
_SEND_MAIL = Script(
    "send_mail",
    keys=("session", "mail", "receipt", "due", "bell"),
    args=(
        "sid", "id", "kind", "sender", "priority", "hops", "expects_reply", "calls", "turns", "text", "bound",
        "receipt_ms",
    ),
    shared=("head", "wake", "mailbox"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Definitions:
    """What a session is made of: its agent file and the tools as listed now, each under its digest."""

    agent_digest: str
    agent: str
    toolset_digest: str
    toolset: str
    mail_scope: str = "subtree"
    """Whose sessions its sessions may write to."""
    interrupt_scope: str = "children"
    """Whose sessions they may interrupt."""
    parameters: str = ""
    """JSON object of the values of its parameters, without the secret ones; empty: there are none."""


def create(
    sid: str, slug: str, definitions: Definitions, *, text: str = "", mail_id: str = "first", tenant: str = ""
) -> Invocation[Literal["created", "exists"]]:
    """Write a new session; with a `text` its first user message, too, which makes it due."""
    head = {
        "status": "ready", "snapshot": "", "agent": definitions.agent_digest, "tools": definitions.toolset_digest,
        "slug": slug, "tenant": tenant, "parent": "", "root": sid, "conversation": sid,
        "mail_scope": definitions.mail_scope, "interrupt_scope": definitions.interrupt_scope,
        "parameters": definitions.parameters,
    }  # fmt: skip
    named = {
        "session": keys.session(sid), "mail": keys.mail(sid), "sessions": keys.SESSIONS, "due": keys.DUE,
        "bell": keys.BELL, "agent": keys.agent(definitions.agent_digest),
        "toolset": keys.toolset(definitions.toolset_digest),
    }  # fmt: skip
    args = {
        "sid": sid, "head": orjson.dumps(head).decode(), "agent": definitions.agent, "toolset": definitions.toolset,
        "definition_seconds": keys.DEFINITION_SECONDS, "mail_id": mail_id, "text": text,
    }  # fmt: skip
    return _CREATE.use(named, args, lambda answer: answer)


@dataclass(frozen=True, slots=True)
class Head:
    """A session as its owner meets it."""

    sid: str
    version: int
    cursor: str
    snapshot: str
    """JSON of the session's state; empty before the first step."""
    agent: str
    tools: str
    slug: str
    root: str
    entries: int
    """Length of the log."""


@dataclass(frozen=True, slots=True)
class Acquired:
    """The right to step a session, for one lease. `now` is the store's time in ms."""

    head: Head
    mail: tuple[Mail, ...]
    now: int


@dataclass(frozen=True, slots=True)
class Ripe:
    """The members of an index whose moment has come, and milliseconds until the next one's (None: there is none)."""

    members: tuple[str, ...]
    next_in_ms: int | None


def peek(limit: int, index: str = keys.DUE) -> Invocation[Ripe]:
    """What is due in an index of moments, most urgent first. Looking takes nothing."""

    def parse(answer: Any) -> Ripe:
        members, next_in = answer
        return Ripe(tuple(members), None if int(next_in) < 0 else int(next_in))

    return _PEEK.use({"index": index}, {"limit": limit}, parse)


Refused = Literal["gone", "owned", "early"]


def acquire(
    sid: str, token: str, channel: str, lease_ms: int, *, named: bool = False, patient: bool = False
) -> Invocation[Acquired | Refused]:
    """Become the owner of a session that is due; a `named` one need not be due. Never takes it from a live owner.

    `patient`: leave alone what has an owner, even one that is late.
    """
    named_keys = {"session": keys.session(sid), "mail": keys.mail(sid), "due": keys.DUE}
    args = {
        "sid": sid, "token": token, "channel": channel, "lease": lease_ms, "named": int(named), "patient": int(patient),
    }  # fmt: skip

    def parse(answer: Any) -> Acquired | Refused:
        if answer[0] != "ok":
            return answer[0]
        _, now, head, mail = answer
        return Acquired(read_head(sid, head), read_mail(mail), int(now))

    return _ACQUIRE.use(named_keys, args, parse)


def read_head(sid: str, fields: Sequence[Any]) -> Head:
    """A head as the scripts answer it: the fields that `head.lua` names."""
    version, cursor, snapshot, agent, tools, slug, root, entries = fields
    return Head(sid, int(version), cursor, snapshot or "", agent, tools, slug, root, int(entries or 0))


Held = Literal["ok", "mail", "lost"]


def renew(held: Sequence[tuple[str, str]], lease_ms: int) -> Invocation[tuple[Held, ...]]:
    """Keep the (session, token) pairs in hand; answers for each whether it is lost or has unread mail."""
    more = tuple(key for sid, _ in held for key in (keys.session(sid), keys.mail(sid)))
    args = (len(held), lease_ms, *(part for pair in held for part in pair))
    return Invocation(_RENEW, (keys.DUE, *more), args, tuple)


@dataclass(frozen=True, slots=True)
class Rest:
    """How a session is parked."""

    status: str
    until: int | None = None
    """Store time in ms; None: only mail ends it."""
    offer: str = ""
    """The token under which it may be given back to who parks it, on the channel that it was acquired with."""

    def args(self) -> dict[str, Scalar]:
        """As the scripts take it."""
        return {"status": self.status, "moment": "" if self.until is None else self.until, "offer": self.offer}


@dataclass(frozen=True, slots=True)
class Answered:
    """What a commit or a park met, and the store's time in ms."""

    outcome: Literal["ok", "stale", "parked", "mail", "due"]
    now: int
    mail: tuple[Mail, ...] = ()


def park(sid: str, token: str, rest: Rest, lease_ms: int) -> Invocation[Answered]:
    """Let go of a session until mail or its moment; unread mail is handed over instead."""
    named = {"session": keys.session(sid), "mail": keys.mail(sid), "due": keys.DUE}
    return _PARK.use(named, {"sid": sid, "token": token, "lease": lease_ms, **rest.args()}, read_answered)


def read_answered(answer: Any) -> Answered:
    """What `commit` and `park` answer."""
    return Answered(answer[0], int(answer[1]), read_mail(answer[2]) if answer[0] == "mail" else ())


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of a letter. `seq` is its place in the mailbox."""

    outcome: Literal["sent", "duplicate", "full", "unknown"]
    seq: str = ""


def send_mail(
    sid: str,
    mail_id: str,
    kind: MailKind,
    text: str,
    *,
    sender: str = "user",
    priority: Priority = "normal",
    hops: int = 0,
    expects_reply: bool = False,
    calls: Sequence[str] = (),
    turns: int = 0,
) -> Invocation[Receipt]:
    """Put a letter into a mailbox, once an id within 24 h. For the rest see `wire.Mail`."""
    named = {
        "session": keys.session(sid), "mail": keys.mail(sid), "receipt": keys.receipt(sid, mail_id), "due": keys.DUE,
        "bell": keys.BELL,
    }  # fmt: skip
    args = {
        "sid": sid, "id": mail_id, "kind": kind, "sender": sender, "priority": priority, "hops": hops,
        "expects_reply": int(expects_reply), "calls": " ".join(calls), "turns": turns, "text": text,
        "bound": keys.MAIL_BOUND, "receipt_ms": keys.MAIL_RECEIPT_MS,
    }  # fmt: skip
    return _SEND_MAIL.use(named, args, lambda answer: Receipt(*answer))
