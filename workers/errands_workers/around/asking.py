"""`before` and `after`: a hook is asked before or after what is inside.

A hook before fails closed: what is inside does not run. A hook after fails open: the result stays as it is.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import NoReturn, TypeVar

import structlog
from pydantic import TypeAdapter

from errands_config.arguments_digest import arguments_digest
from errands_config.errors import ToolError
from errands_config.text import cap, clean
from errands_config.wire import Approval, CallState, Claimed, Deferral, Hook, Outcome
from errands_workers.around.given import Given, Layer
from errands_workers.around.hook_answers import (
    AFTER,
    BEFORE,
    Answer,
    BeforeAnswer,
    Continue,
    Deny,
    LeaveIt,
    after_answer,
    answered,
    question,
    question_after,
    read_answer,
)
from errands_workers.around.hooks import HookFailed, Hooks, answer_of, label_of
from errands_workers.around.pieces import SILENT, Overdue, Pieces, Within
from errands_workers.around.tool_call import ToolCall
from errands_workers.json_text import json_text
from errands_workers.kinds.kind import RunEnd

_MOST_OF_A_REASON = 2_000

T = TypeVar("T")

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Asking:
    """Asks the hooks of one call."""

    hooks: Hooks
    pieces: Pieces
    call: ToolCall

    @property
    def claimed(self) -> Claimed:
        """The call."""
        return self.call.claimed

    def ask(self, hook: Hook, question: bytes, answers: TypeAdapter[T], within: Within, overdue: Outcome) -> T:
        """Put a question to a hook; `overdue` is recorded if it neither answers nor lets itself be stopped.

        Raises HookFailed, and Overdue for a time that is not the hook's own.
        """
        longest = self.hooks.longest_seconds
        mine = Within(time.monotonic() + longest, overdue)
        mine = mine if mine.deadline < within.deadline else within
        try:
            end = self.pieces.run(self.hooks.run_of(hook, question), mine, SILENT)
        except Overdue as over:
            if over.within is within:
                raise
            raise HookFailed(_silent(hook, longest), "no answer in time") from None
        try:
            return read_answer(answer_of(hook, end), answers)
        except ValueError:
            raise HookFailed(f"hook {hook.name}: its answer cannot be read", "unreadable answer") from None

    def is_approved(self, hook: Hook, arguments: str) -> bool:
        """Whether somebody has given leave to run these arguments although this hook had asked."""
        given = self.claimed.approved
        return bool(given) and Approval(hook=label_of(hook), digest=arguments_digest(arguments)) in given

    def tell_failed(self, hook: Hook, when: str, failure: HookFailed) -> None:
        """Leave a line in the log, without any content."""
        log.warning(
            "hook.failed",
            hook=label_of(hook),
            when=when,
            failure=failure.kind,
            tool=self.claimed.tool,
            tool_call_id=self.claimed.call,
        )


def before(hook: Hook, asking: Asking, inner: Layer, given: Given) -> RunEnd:
    """Ask a hook, and run what is inside if it says so, with its arguments if it has any."""
    if asking.is_approved(hook, given.arguments):
        return inner(given)
    try:
        answer = _ask_before(hook, asking, given)
        end = _act(hook, asking, answer, given)
    except HookFailed as failure:
        asking.tell_failed(hook, "before", failure)
        return blocked(str(failure))
    return inner(end) if isinstance(end, Given) else end


def _ask_before(hook: Hook, asking: Asking, given: Given) -> BeforeAnswer:
    overdue = blocked(_silent(hook, asking.hooks.longest_seconds))
    return asking.ask(hook, question(asking.claimed, given.arguments), BEFORE, given.within, overdue)


def _act(hook: Hook, asking: Asking, answer: BeforeAnswer, given: Given) -> RunEnd | Given:
    """What the answer means: with what to go on, or how the call ends here. Raises HookFailed."""
    match answer:
        case Continue(arguments=None):
            return given
        case Continue(arguments=arguments):
            return replace(given, arguments=_checked(hook, asking.call, arguments))
        case Deny(message=message):
            return Outcome(state=CallState.DENIED, error=message, error_kind="denied by a hook")
        case LeaveIt(reason=reason):
            return _deferral(hook, asking.claimed, reason, given)
        case Answer():
            try:
                return answered(answer)
            except ToolError as unfit:
                _refuse(hook, f"its result is {unfit}")


def _checked(hook: Hook, call: ToolCall, arguments: object) -> str:
    """Arguments of a hook as JSON text that the tool takes."""
    try:
        text = json_text(arguments)
        call.prepare(text)
    except ToolError as unfit:
        _refuse(hook, f"its arguments do not fit: {unfit}")
    return text


def _refuse(hook: Hook, why: str) -> NoReturn:
    raise HookFailed(f"hook {hook.name}: {why}", "unfit answer") from None


def _deferral(hook: Hook, claimed: Claimed, reason: str, given: Given) -> RunEnd:
    if not claimed.policy.may_defer:
        return blocked(f"hook {hook.name} wants to defer this call, and calls of this agent cannot wait")
    return Deferral(
        kind="hook",
        reason=cap(clean(reason).text, _MOST_OF_A_REASON),
        hook=label_of(hook),
        arguments="" if given.arguments == claimed.arguments else given.arguments,
    )


def blocked(detail: str) -> Outcome:
    """The end of a call that a hook before it could not let pass."""
    return Outcome(state=CallState.DENIED, error=f"blocked by policy: {detail}", error_kind="blocked by policy")


def after(hook: Hook, asking: Asking, inner: Layer, given: Given) -> RunEnd:
    """Run what is inside, and ask a hook about its result. A deferral is none."""
    began = time.monotonic()
    end = inner(given)
    if isinstance(end, Deferral):
        return end
    asked = question_after(asking.claimed, given.arguments, end, time.monotonic() - began)
    try:
        return _answer_after(hook, asking, asked, end, given.within)
    except HookFailed as failure:
        asking.tell_failed(hook, "after", failure)
        return end


def _answer_after(hook: Hook, asking: Asking, asked: bytes, end: Outcome, within: Within) -> Outcome:
    answer = asking.ask(hook, asked, AFTER, within, end)
    try:
        return after_answer(end, answer)
    except ToolError as unfit:
        _refuse(hook, f"its result is {unfit}")


def _silent(hook: Hook, seconds: float) -> str:
    return f"hook {hook.name}: no answer within {seconds:g} s"
