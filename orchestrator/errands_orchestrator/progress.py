"""Progress in short, as a person reads it, and a model in a digest."""

from __future__ import annotations

from typing import cast

import orjson

from errands_config.text import for_terminal, short

_STARTED = {"started": True}


def in_short(payload: str) -> str:
    """A report (JSON text) in one line of at most 100 characters; empty for the start itself, which is no news.

    The last non-empty line of a string, else `line`, else `message`, else compact JSON.
    """
    value: object = orjson.loads(payload)
    return "" if value == _STARTED else short(for_terminal(_text(value)))


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    fields = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    for name in ("line", "message"):
        if isinstance(text := fields.get(name), str):
            return text
    return orjson.dumps(value).decode()
