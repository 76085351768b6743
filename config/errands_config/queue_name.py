"""What a queue may be called: its list in the broker is named like it, beside the broker's own keys."""

from __future__ import annotations

import re

WANTED = "a name of 1 to 64 letters, digits, _, . or -"
_FORM = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_TAKEN = ("unacked", "_kombu", "celery", "errands")


def fault_of_queue(name: str) -> str:
    """What is wrong with a queue's name; empty if nothing."""
    if not _FORM.fullmatch(name):
        return f"{WANTED} is expected"
    if name.startswith(_TAKEN):
        return f"names that begin like this one are the broker's own ({', '.join(_TAKEN)}); choose another"
    return ""
