"""Parked sessions that are given back to who parked them: what `wake.lua` publishes."""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from errands_config import keys
from errands_config.scripts.letters import read_mail
from errands_config.scripts.script import Invocation, Script
from errands_config.scripts.sessions import Acquired, read_head

_REFUSE = Script("refuse", keys=("session", "due", "bell"), args=("sid", "token"))


@dataclass(frozen=True, slots=True)
class Gift:
    """A parked session that is given back to who parked it, under the token that was offered then."""

    token: str
    owned: Acquired


def read_gift(text: str) -> Gift | None:
    """What an owner hears on its channel: a gift; None: the id of a session in hand, which has mail."""
    if not text.startswith("["):
        return None
    sid, token, now, head, mail = orjson.loads(text)
    return Gift(token, Acquired(read_head(sid, head), read_mail(mail), int(now)))


def refuse(sid: str, token: str) -> Invocation[str]:
    """Leave a gift to whoever has time for it."""
    named = {"session": keys.session(sid), "due": keys.DUE, "bell": keys.BELL}
    return _REFUSE.use(named, {"sid": sid, "token": token}, str)
