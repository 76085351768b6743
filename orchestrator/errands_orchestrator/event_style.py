"""Late results and notifications as events: what happened, in one line; how to read the rest, in another. Pure."""

from __future__ import annotations

from collections.abc import Collection

from errands_config.wire import CallState
from errands_orchestrator.capabilities.offers import GET_RESULT, GET_STATUS
from errands_orchestrator.session import TrackedCall
from errands_orchestrator.texts import ALREADY_KNOWN, RUN_AGAIN

SUMMARY_LENGTH = 200
"""Most characters of a result's first line."""

_JOB_WORDS = {CallState.COMPLETED: "done", CallState.TIMED_OUT: "timed_out", CallState.CANCELLED: "cancelled"}
_KINDS = {"done": "job_completed", "timed_out": "job_timed_out", "cancelled": "job_cancelled", "failed": "job_failed"}


def event_of(call: TrackedCall, capabilities: Collection[str]) -> str:
    """The end of a call. Its result stands whole in the event where the model has no capability to read it with."""
    word = _JOB_WORDS.get(call.state, "failed")
    reason = f" reason={call.state}" if word == "failed" and call.state is not CallState.FAILED else ""
    lines = [f"[event] {_KINDS[word]} job_id={call.provider_id} tool={call.name} status={word}{reason}"]
    lines += [f"note: {RUN_AGAIN}"] if call.reran else []
    if call.known:
        return "\n".join([*lines, f"summary: {ALREADY_KNOWN[call.known]}"])
    return "\n".join([*lines, *_told(call.text, call.readable_as, reader_of(capabilities))])


def notification(sender: TrackedCall | None, call: str, text: str, capabilities: Collection[str]) -> str:
    """What a running call says. `call` is its id of ours, `text` is framed; where it is no more than one line, nothing
    is left to read."""
    about = f"job_id={sender.provider_id} tool={sender.name}" if sender else f"job_id={call}"
    head = f"[event] job_notified {about} status=running"
    if text == summary_of(text):
        return f"{head}\nsummary: {text}"
    name = sender.readable_as if sender else call
    return "\n".join([head, *_told(text, name, GET_STATUS if GET_STATUS in capabilities else "")])


def reader_of(capabilities: Collection[str]) -> str:
    """The capability by which the model reads a result; empty where it has none."""
    return next((name for name in (GET_RESULT, GET_STATUS) if name in capabilities), "")


def summary_of(text: str) -> str:
    """The first line of a text that is not blank, at most 200 characters of it."""
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return first if len(first) <= SUMMARY_LENGTH else f"{first[: SUMMARY_LENGTH - 1]}…"


def _told(text: str, name: str, reading: str) -> list[str]:
    if reading:
        return [f"summary: {summary_of(text)}", f"details: {reading}({name})"]
    return [f"summary: {text}"]
