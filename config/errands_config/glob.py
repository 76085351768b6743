"""Globs as the agent file knows them: `*` stands for any run of characters, everything else for itself."""

from __future__ import annotations


def matches(pattern: str, text: str) -> bool:
    """Whether the whole text has the pattern's form. Linear in the text: no input makes it slow."""
    first, *rest = pattern.split("*")
    if not rest:
        return text == pattern
    *middle, last = rest
    at, end = len(first), len(text) - len(last)
    if at > end or not (text.startswith(first) and text.endswith(last)):
        return False
    for part in middle:
        found = text.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True
