"""The environment of a script: little of the worker's own, and whose call it is. Pure."""

from __future__ import annotations

import os
from collections.abc import Mapping

from errands_config.wire import Claimed

WORKER_MARK = "ERRANDS_WORKER"
"""The variable by which a process is known as begun for a call of a worker incarnation."""

CALL_MARK = "ERRANDS_TOOL_CALL_ID"
"""The variable by which a process is known as begun for a call."""

_PASSED_ON = frozenset({"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR"})


def clean_environment(own: Mapping[str, str]) -> dict[str, str]:
    """What any program needs of the worker's environment: no setting, no key, no address of ours."""
    kept = {name: value for name, value in own.items() if name in _PASSED_ON or name.startswith("LC_")}
    return {"PATH": os.defpath, **kept}


def call_environment(claimed: Claimed, incarnation: str) -> dict[str, str]:
    """Whose call it is, in our names and in those of the system whose agent files are read."""
    marks = {
        "ERRANDS_SESSION_ID": claimed.session,
        CALL_MARK: claimed.call,
        "ERRANDS_ATTEMPT": str(claimed.attempt),
        WORKER_MARK: incarnation,
        "AGENT_SESSION_ID": claimed.session,
        "AGENT_CONVERSATION_ID": claimed.conversation,
        "AGENT_TURN_ID": str(claimed.turn or ""),
        "AGENT_AGENT_ID": claimed.agent,
    }
    return {name: value for name, value in marks.items() if value}
