"""What a hook may be called: an executable in a worker's hook folders, by its name. Nothing here is ever a path."""

from __future__ import annotations

import re

WANTED = "1 to 64 letters, digits, _, . or -, not beginning with a dot"
_FORM = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}")


def is_hook_name(name: str) -> bool:
    """Whether an executable of a hook folder may have this name."""
    return _FORM.fullmatch(name) is not None


def hook_name_of(command: str) -> str | None:
    """The hook that a `command` of an agent file names: `approve` and `hooks/approve` are one; None for a path."""
    name = command.removeprefix("hooks/")
    return name if is_hook_name(name) else None
