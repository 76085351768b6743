"""What commands print: data on stdout, everything else on stderr, and foreign text only through the gate."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import Annotated, TypeAlias

import orjson
from cyclopts import Parameter
from cyclopts.validators import Number

from errands_config.text import clean, for_terminal

JsonValue: TypeAlias = "str | int | float | bool | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
Row: TypeAlias = Mapping[str, JsonValue]

AsJson = Annotated[bool, Parameter(name="--json", negative="", help="Print JSON.")]
"""The option that every command has."""
Limit = Annotated[int, Parameter(help="Most rows to list.", validator=Number(gte=1))]


def print_json(value: JsonValue) -> None:
    """One JSON document on stdout; one line unless a person reads it."""
    option = orjson.OPT_INDENT_2 if sys.stdout.isatty() else 0
    _write(orjson.dumps(value, option=option).decode() + "\n")


def print_text(text: str) -> None:
    """Foreign text on stdout, whole; a terminal gets it without what terminals obey."""
    shown = for_terminal(text) if sys.stdout.isatty() else clean(text).text
    _write(shown if shown.endswith("\n") else f"{shown}\n")


def print_rows(rows: Sequence[Row], columns: Sequence[str], *, as_json: bool, nothing: str) -> None:
    """A list: all fields as a JSON array, or some `columns` as a table; `nothing` is said where there are no rows."""
    if as_json:
        print_json(rows)
    elif rows:
        _write(table_of(rows, columns))
    else:
        say(nothing)


def print_facts(facts: Row, *, as_json: bool) -> None:
    """One thing: a JSON object, or a line for each fact that is known, text of several lines below its name."""
    if as_json:
        print_json(facts)
        return
    width = max(map(len, facts))
    for name, value in facts.items():
        if value is not None:
            print_text(_fact(name, value, width))


def say(text: str) -> None:
    """A line for the person on stderr."""
    print(for_terminal(text), file=sys.stderr, flush=True)  # noqa: T201 - this is the place that prints


def table_of(rows: Sequence[Row], columns: Sequence[str]) -> str:
    """Some `columns` of rows as a table; no value can break its line."""
    return table([[_cell(row[column]) for column in columns] for row in rows], columns)


def table(rows: Sequence[Sequence[str]], head: Sequence[str]) -> str:
    """Aligned columns under a head, as text."""
    lines = [[name.upper() for name in head], *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    padded = ("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)
    return "".join(f"{line.rstrip()}\n" for line in padded)


def _fact(name: str, value: JsonValue, width: int) -> str:
    if isinstance(value, str) and "\n" in value:
        return f"{name}\n{textwrap.indent(value, '    ')}"
    return f"{name.ljust(width)}  {value if isinstance(value, str) else orjson.dumps(value).decode()}"


def _cell(value: JsonValue) -> str:
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return " ".join(for_terminal(text).split())


def _write(text: str) -> None:
    """Write all of it. A reader that has left (`| head`) ends the command in silence."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # what is left in the buffer would raise again as the interpreter ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
