"""A session told as a story: what the model is given, what it says, and what that means. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping

from errands_config.text import for_terminal
from errands_orchestrator.notices import FINISHED, FINISHED_EARLIER
from errands_orchestrator.session import AssistantEntry, CompactionEntry, Entry, ToolMessage, ToolsEntry, UserEntry

WIDTH = 96
LINES = 6
"""Lines of a result that are shown: its first and its last ones."""

BEGINNING = """\
An agent is asked about the small project in examples/demo/project. Its model is a script, so that no key
is needed; the store, the worker and the tools are real: pytest and ruff, run by Celery.
"""
ENDING = """
That was one run, and the model never stood still while its tools ran. The same agent with a real model:
    OPENAI_BASE_URL=… OPENAI_API_KEY=… ERRANDS_MODEL=… errands run examples/demo/agent.json "Is it ready?"
"""

PLACEHOLDER = "It runs on; the model gets a placeholder at once and can go on talking."
NOTICE = "What became of calls that had a placeholder so far: it comes by itself, without a poll."
COMPACTION = "Results that it had before its answer {} are in one line each from here on."
NOTIFY = "The tool itself speaks up while it runs (it printed a line ::notify::…)."


def narrated(entry: Entry, turn: int) -> str:
    """One entry of the log. `turn` is the number of the model's answer that it belongs to."""
    match entry:
        case UserEntry():
            return _block(f"to the model, turn {turn}", _news(entry))
        case ToolsEntry():
            return _block(f"to the model, turn {turn}", (line for it in entry.messages for line in _tool_message(it)))
        case AssistantEntry():
            return _block(f"the model, turn {turn}", _said(entry))
        case CompactionEntry(before=before):
            return _block(f"to the model, turn {turn}", iter([_aside(COMPACTION.format(before))]))


def news_of(kind: str, facts: Mapping[str, str]) -> str:
    """What happens to a call on its worker, in a line; empty for any other event."""
    name = f"{facts.get('tool', '')} ({facts.get('provider_call_id', '')})"
    seconds = f" after {int(facts.get('elapsed_ms', '0')) / 1000:.1f} s" if "elapsed_ms" in facts else ""
    match kind:
        case "tool_call.queued" | "tool_call.progressed":
            return ""
        case "tool_call.started":
            return f"   ⏳ {name} starts on a worker"
        case "tool_call.deferred":
            return f"   ⏳ {name} waits for somebody outside"
        case "tool_call.completed":
            return f"   ✓ {name} completed{seconds}"
        case _ if kind.startswith("tool_call."):
            return f"   ✗ {name} {kind.removeprefix('tool_call.').replace('_', ' ')}{seconds}"
        case _:
            return ""


def _block(head: str, lines: Iterator[str]) -> str:
    return "\n".join([f"── {head} {'─' * (WIDTH - len(head) - 4)}", *lines])


def _news(entry: UserEntry) -> Iterator[str]:
    yield from _quoted(entry.text)
    if entry.text.startswith((FINISHED, FINISHED_EARLIER)):
        yield _aside(NOTICE)
    elif " notifies:\n" in entry.text:
        yield _aside(NOTIFY)


def _tool_message(message: ToolMessage) -> Iterator[str]:
    yield f"   {message.name} ({message.id}) answers:"
    yield from (f"   {line}" for line in _quoted(message.text))
    if message.placeholder:
        yield _aside(PLACEHOLDER)


def _said(entry: AssistantEntry) -> Iterator[str]:
    yield from _quoted(entry.text)
    for call in entry.calls:
        yield f"   calls {call.name} ({call.id}) {call.arguments}"


def _aside(text: str) -> str:
    return f"      ↳ {text}"


def _quoted(text: str) -> Iterator[str]:
    """Text in short, wrapped."""
    lines = for_terminal(text).splitlines()
    if len(lines) > LINES:
        lines = [*lines[: LINES // 2], f"… ({len(lines) - LINES} lines)", *lines[-LINES // 2 :]]
    for line in lines:
        yield from textwrap.wrap(line, WIDTH, initial_indent="   ", subsequent_indent="   ") or [""]
