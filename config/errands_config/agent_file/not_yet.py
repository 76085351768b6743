"""What the agent file may say and this version does not act on yet: one table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from pydantic import JsonValue

from errands_config.agent_file.finding import Finding, key_path, shown

_Keys: TypeAlias = tuple[str | int, ...]


class Row(NamedTuple):
    """A place in the file, the values there that act, and what the others are for."""

    place: str
    """Keys joined by dots; `*` stands for every position of a list."""
    acts: tuple[JsonValue, ...]
    brings: str


NOT_YET: tuple[Row, ...] = (
    Row("mcpServers", ([],), "tools of MCP servers"),
    Row("openApiToolboxes", ([],), "tools of HTTP APIs"),
    Row("extraAgents", ([],), "helpers"),
    Row("mailScope", ("subtree",), "mail between sessions"),
    Row("interruptScope", ("children",), "interrupt mail"),
)


def refusals(written: JsonValue) -> Iterator[Finding]:
    """What says something else than this version acts on. `written` is a valid agent, its defaults filled in."""
    for row in NOT_YET:
        for keys, value in _values_at(row.place.split("."), written, ()):
            if value not in row.acts:
                yield Finding(key_path(keys), _refusal(row, value))


def _values_at(place: list[str], value: JsonValue, keys: _Keys) -> Iterator[tuple[_Keys, JsonValue]]:
    if not place:
        yield keys, value
    elif place[0] == "*" and isinstance(value, list):
        for position, item in enumerate(value):
            yield from _values_at(place[1:], item, (*keys, position))
    elif isinstance(value, dict):
        yield from _values_at(place[1:], value[place[0]], (*keys, place[0]))


def _refusal(row: Row, value: JsonValue) -> str:
    if len(row.acts) == 1:
        return f"not supported yet: {row.brings}; leave it out"
    return f"{shown(value)} is not supported yet: {row.brings}; use one of {', '.join(map(shown, row.acts))}"
