"""What is wrong with a file: where and what, and how several findings become one error."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from errands_config.errors import ConfigError

_PLAIN_KEY = re.compile(r"[A-Za-z0-9_$-]+")
_SHOWN = 60
_MOST_LINES = 20


class Finding(NamedTuple):
    """One thing that is wrong. `path` is empty where it concerns the whole file."""

    path: str
    text: str


def key_path(keys: Iterable[str | int]) -> str:
    """Keys and list positions as a person writes them: `toolCallPolicyConfig.rules[0].tool`."""
    path = ""
    for key in keys:
        if isinstance(key, int):
            path += f"[{key}]"
        elif _PLAIN_KEY.fullmatch(key):
            path += f".{key}" if path else key
        else:
            path += f"[{json.dumps(key)}]"
    return path


def shown(value: object) -> str:
    """A value as short JSON, for a message."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def one_of(names: Iterable[str]) -> str:
    """`"a"`, or `one of "a", "b"`."""
    quoted = [f'"{name}"' for name in names]
    return quoted[0] if len(quoted) == 1 else f"one of {', '.join(quoted)}"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that was probably meant."""
    folded = name.casefold()
    candidates = {candidate.casefold(): candidate for candidate in known}
    near = difflib.get_close_matches(folded, candidates, n=1)
    near += [candidate for candidate in candidates if len(folded) > 2 and candidate.startswith(folded)]
    return candidates[near[0]] if near else None


def guess(name: str, known: Iterable[str]) -> str:
    """` (did you mean "X"?)` where a known name is near, else nothing."""
    meant = nearest(name, known)
    return f' (did you mean "{meant}"?)' if meant else ""


def as_error(findings: Sequence[Finding], origin: str, kind: type[ConfigError] = ConfigError) -> ConfigError:
    """One error for all findings, a line each; its `path` is that of the first. `origin` names the file."""
    first, *others = findings[:_MOST_LINES]
    lines = [first.text, *(f"{other.path}: {other.text}" if other.path else other.text for other in others)]
    lines += [f"and {len(findings) - _MOST_LINES} more"] if len(findings) > _MOST_LINES else []
    return kind("\n".join(f"{line} (in {origin})" for line in lines), path=first.path)
