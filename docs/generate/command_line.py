"""The page of the command line: every command with its help, its arguments and how it ends."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, cast, get_args, get_origin

from cyclopts import App
from cyclopts.argument import Argument
from docs.generate.markdown import anchor, code, codes, page, table, unwrapped
from docstring_parser import parse

from errands_orchestrator.cli.exit_codes import MEANINGS
from errands_orchestrator.cli.root import root

_INTRODUCTION = """
Data goes to stdout, everything else to stderr. `--json` prints JSON instead of tables. There is no colour off a
terminal. Every command has `--help`; `errands --version` prints the version.
"""
_WORDS: dict[Any, str] = {Path: "path", str: "text", int: "whole number", float: "number", bool: "switch"}
_ROOT = Path(__file__).parents[2]


def command_line_page() -> str:
    """The page as Markdown text."""
    sections = [section for path, app in commands() for section in _section(path, app)]
    codes_table = table(("code", "meaning"), ((str(int(code_)), meaning) for code_, meaning in MEANINGS.items()))
    return page("Command line", _INTRODUCTION, _contents(), *sections, "## Exit codes", codes_table)


def commands(app: App = root, path: tuple[str, ...] = ("errands",)) -> Iterator[tuple[tuple[str, ...], App]]:
    """Every command that is shown, groups of commands included, each with the words that call it."""
    for name in app:
        if name.startswith("-") or not app[name].show:
            continue
        yield (*path, name), app[name]
        yield from commands(app[name], (*path, name))


def arguments_of(app: App) -> list[Argument]:
    """What a command takes; a group takes nothing."""
    if app.default_command is None:
        return []
    return [argument for argument in app.assemble_argument_collection(parse_docstring=True) if argument.show]


def _contents() -> str:
    lines = [f"* [{code(' '.join(path))}]({anchor(' '.join(path))})" for path, app in commands() if app.default_command]
    return "\n".join(lines)


def _section(path: tuple[str, ...], app: App) -> Iterator[str]:
    if app.default_command is None:
        return
    arguments = arguments_of(app)
    yield f"## {code(' '.join(path))}"
    yield f"    {' '.join((*path, *_usage(arguments)))}"
    yield _help(app)
    yield table(("argument", "values", "default", "what it is"), map(_row, arguments))


def _help(app: App) -> str:
    """The help page's words or the docstring's, whichever says more."""
    written = parse(inspect.getdoc(app.default_command) or "")
    docstring = "\n\n".join(part for part in (written.short_description, written.long_description) if part)
    return unwrapped(max(docstring, app.help or "", key=len))


def _usage(arguments: Sequence[Argument]) -> Iterator[str]:
    for argument in arguments:
        if _is_positional(argument):
            many = "…" if _is_many(argument) else ""
            yield f"{argument.names[0]}{many}" if argument.required else f"[{argument.names[0]}{many}]"
    if any(not _is_positional(argument) for argument in arguments):
        yield "[OPTIONS]"


def _row(argument: Argument) -> Sequence[str]:
    names = codes(argument.names) + (", may be repeated" if _is_many(argument) and not _is_positional(argument) else "")
    help_text = argument.parameter.help or ""
    return names, _values(argument.hint), _default(argument), unwrapped(help_text) or "-"


def _is_positional(argument: Argument) -> bool:
    return not argument.names[0].startswith("-")


def _is_many(argument: Argument) -> bool:
    return any(get_origin(hint) in (tuple, list) for hint in _choices(argument.hint))


def _choices(hint: Any) -> Sequence[Any]:
    """A hint without its None, as all that it may be."""
    return [hint] if get_origin(hint) is not None and type(None) not in get_args(hint) else _parts(hint)


def _parts(hint: Any) -> Sequence[Any]:
    return [part for part in get_args(hint) if part is not type(None)] or [hint]


def _values(hint: Any) -> str:
    first = _choices(hint)[0]
    if get_origin(first) is Literal:
        return codes(map(str, get_args(first)))
    if get_origin(first) in (tuple, list):
        return _values(get_args(first)[0])
    return _WORDS.get(first) or str(first.__name__)


def _default(argument: Argument) -> str:
    if argument.required:
        return "required"
    default = cast("object", argument.field_info.default)
    if default in (None, False, True, "", ()) or default is inspect.Parameter.empty:
        return "-"
    if isinstance(default, Path):
        return code(str(default.relative_to(_ROOT) if default.is_relative_to(_ROOT) else default))
    return code(default if isinstance(default, str) else json.dumps(default))
