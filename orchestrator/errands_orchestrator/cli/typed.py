"""What a line means that a person types while a run goes on. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from errands_config.text import clean

HELP = """\
  TEXT          say it to the agent: it is heard with its next answer
  !TEXT         say it at once: the agent lets go of what it waits for
  /calls        list the calls that run
  /cancel CALL  end one call; its id or the model's name for it, as shown
  /help         this list
  Ctrl-C        cancel the run and keep the session; twice: leave at once
A blank before / or ! makes it a message like any other."""


@dataclass(frozen=True, slots=True)
class Message:
    """Words for the agent."""

    text: str
    interrupt: bool = False


@dataclass(frozen=True, slots=True)
class CancelOne:
    """`/cancel`: one call is to end."""

    call: str
    """Our id or the provider's."""


@dataclass(frozen=True, slots=True)
class ListCalls:
    """`/calls`: what runs."""


@dataclass(frozen=True, slots=True)
class Remark:
    """Something that the person is told at once: help, or what is wrong with the line."""

    text: str


Typed: TypeAlias = Message | CancelOne | ListCalls | Remark


def meaning(line: str) -> Typed | None:
    """What a line asks for; None for a blank one. A terminal may hand over bytes that are no text."""
    line = clean(line).text
    if not line.strip():
        return None
    if line.startswith("!"):
        text = line[1:].strip()
        return Message(text, interrupt=True) if text else Remark("after ! comes what is to be said at once")
    if line.startswith("/"):
        word, _, rest = line.partition(" ")
        return _command(word, rest.strip())
    return Message(line.strip())


def _command(word: str, rest: str) -> Typed:
    match word:
        case "/cancel" if rest:
            return CancelOne(rest)
        case "/cancel":
            return Remark("/cancel wants a call: /calls lists them")
        case "/calls":
            return ListCalls()
        case "/help":
            return Remark(HELP)
        case _:
            return Remark(f"there is no {word}; there are /calls, /cancel CALL and /help")
