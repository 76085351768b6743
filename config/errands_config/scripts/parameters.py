"""The values of a session's parameters, changed while it lives."""

from __future__ import annotations

from typing import Literal

from errands_config import keys
from errands_config.scripts.script import Invocation, Script

_SET = Script("set_parameters", keys=("session",), args=("old", "new"))


def set_parameters(sid: str, old: str, new: str) -> Invocation[Literal["ok", "changed", "unknown"]]:
    """Put new values, a JSON object, in place of the old ones; `changed`: others have come between.

    The whole text is compared and set, because Lua would not give every JSON value back as it was.
    """
    return _SET.use({"session": keys.session(sid)}, {"old": old, "new": new}, lambda answer: answer)
