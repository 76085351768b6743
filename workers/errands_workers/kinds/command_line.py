"""A script's arguments, as JSON, into what the operating system hands to it: words, standard input, variables. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from errands_config.errors import InvalidArguments
from errands_workers.kinds.describe import Description, ScriptArgument

LONGEST_WORD = 131_072
"""What the kernel takes as one word or variable, in bytes, its closing NUL included."""

Plain: TypeAlias = str | int | float | bool


@dataclass(frozen=True, slots=True)
class CommandLine:
    """What a script is started with, apart from its own path."""

    words: tuple[str, ...]
    stdin: bytes
    variables: Mapping[str, str]


def command_line(description: Description, arguments: Mapping[str, Plain | Sequence[Plain]]) -> CommandLine:
    """Put valid arguments into words, standard input and variables, each in the order of the description.

    InvalidArguments for what cannot be handed over in the way that the description says.
    """
    words: list[str] = ["run"]
    stdin: list[str] = []
    variables: dict[str, str] = {}
    for argument in description.args:
        if argument.name not in arguments:
            continue
        values = _texts(arguments[argument.name])
        match argument.mode:
            case "stdin":
                stdin.extend(values)
            case "env":
                variables[argument.name] = "\n".join(values)
            case _:
                words.extend(_words(argument, values, allow_dash=description.allow_dash or argument.allow_dash))
    _check([*words, *(f"{name}={value}" for name, value in variables.items())])
    return CommandLine(tuple(words), _input(stdin), variables)


def _texts(value: Plain | Sequence[Plain]) -> list[str]:
    values = [value] if isinstance(value, Plain) else value
    return [_text(one) for one in cast("Sequence[Plain]", values)]


def _text(value: Plain) -> str:
    """As JSON would write it, strings without their quotes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _words(argument: ScriptArgument, values: list[str], *, allow_dash: bool) -> Iterator[str]:
    for value in values:
        match argument.mode:
            case "positional":
                if value.startswith("-") and not allow_dash:
                    raise InvalidArguments(f"invalid arguments: {argument.name}: a value must not begin with -")
                yield value
            case "dashdashequal":
                yield f"--{argument.name}={value}"
            case _:
                yield f"--{argument.name}"
                yield value


def _check(words: list[str]) -> None:
    for word in words:
        if "\0" in word:
            raise InvalidArguments("invalid arguments: a NUL character cannot be handed to this tool")
        if len(_bytes(word)) >= LONGEST_WORD:
            raise InvalidArguments("invalid arguments: too large for this mode")


def _input(values: list[str]) -> bytes:
    """Standard input ends with a newline; without a value it is empty."""
    if not values:
        return b""
    text = "\n".join(values)
    return _bytes(text if text.endswith("\n") else f"{text}\n")


def _bytes(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise InvalidArguments("invalid arguments: text with half of a surrogate pair is not Unicode text") from None
