"""A session as Markdown: what was said and called, step by step, also where calls had not finished. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from errands_config.wire import CallState
from errands_orchestrator.session import (
    AssistantEntry,
    CompactionEntry,
    Entry,
    ShownCall,
    ToolMessage,
    ToolsEntry,
    UserEntry,
)
from errands_orchestrator.texts import word

Detail: TypeAlias = Literal["hidden", "shown", "elided"]
"""How much of an argument or result is printed: nothing, all, or its beginning."""

ELIDED = 200
"""Characters of the beginning."""


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call of the newest turn, which has no tool message yet."""

    id: str
    """As it stands in the history."""
    name: str
    state: CallState


@dataclass(frozen=True, slots=True)
class Printed:
    """What is to be printed."""

    entries: Sequence[Entry]
    open_turn: Sequence[OpenCall] = ()
    """Empty unless the newest turn has not been handed back to the model."""
    states: Mapping[str, CallState] | None = None
    """By our id: where the calls with placeholders stand now."""
    arguments: Detail = "hidden"
    results: Detail = "hidden"


def markdown(session: Printed) -> str:
    """The whole session, oldest step first."""
    steps = [_step(number, entry, session) for number, entry in enumerate(session.entries, 1)]
    if session.open_turn:
        steps.append(_open_turn(len(steps) + 1, session.open_turn))
    return "\n".join(steps)


def _step(number: int, entry: Entry, session: Printed) -> str:
    match entry:
        case UserEntry():
            return f"## Step {number}: {'User' if entry.from_person else 'News of Tool Calls'}\n\n{entry.text}\n"
        case AssistantEntry():
            return f"## Step {number}: Model\n\n{''.join(_said(entry, session.arguments))}"
        case ToolsEntry():
            return "".join(_handed_back(number, entry, session))
        case CompactionEntry(before=before):
            said = f"From here on the model sees the results that it had before its answer {before} in one line each"
            return f"## Step {number}: Compaction\n\n_({said})_\n"


def _said(entry: AssistantEntry, detail: Detail) -> Iterator[str]:
    if entry.text:
        yield f"{entry.text}\n"
    if entry.text and entry.calls:
        yield "\n"
    for call in entry.calls:
        yield _line(call, "called; the model goes on without its result" if call.is_async else "called")
        yield _block(call.arguments, detail)
    if not entry.text and not entry.calls:
        yield "_(nothing)_\n"


def _handed_back(number: int, entry: ToolsEntry, session: Printed) -> Iterator[str]:
    if any(message.placeholder for message in entry.messages):
        goes_on = any(_still_open(message, session.states or {}) for message in entry.messages)
        yield _partial_head(number, goes_on)
    else:
        yield f"## Step {number}: Tool Results\n\n"
    for message in entry.messages:
        yield _line(message, _standing(message, session.states or {}))
        if not message.placeholder:
            yield _block(message.text, session.results)


def _still_open(message: ToolMessage, states: Mapping[str, CallState]) -> bool:
    state = states.get(message.call)
    return message.placeholder and state is not None and not state.is_final


def _standing(message: ToolMessage, states: Mapping[str, CallState]) -> str:
    if not message.placeholder:
        return word(message.state)
    now = states.get(message.call)
    later = f"; {word(now)} later" if now is not None and now.is_final else ""
    return f"{word(message.state)} (placeholder sent){later}"


def _open_turn(number: int, calls: Sequence[OpenCall]) -> str:
    return _partial_head(number, True) + "".join(_line(call, word(call.state)) for call in calls)


def _partial_head(number: int, goes_on: bool) -> str:
    return (
        f"## ⏸️ Step {number}: Partial Turn{' (in progress)' if goes_on else ''}\n"
        "_(Some tool calls had not finished when this turn was sent)_\n\n"
        "### ⏳ Tool Call Status\n\n"
    )


def _line(call: ShownCall | ToolMessage | OpenCall, standing: str) -> str:
    return f"- `{call.name}` (`{call.id}`): {standing}\n"


def _block(text: str, detail: Detail) -> str:
    """Foreign text in a fence that nothing in it can close."""
    if detail == "hidden":
        return ""
    if detail == "elided" and len(text) > ELIDED:
        text = f"{text[:ELIDED]}… ({len(text)} characters)"
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"\n{fence}\n{text}\n{fence}\n\n"
